//! The tests rules carry.

use charla_proto::{ApprovalMode, Plan, Verdict};

use super::{Decision, RuleBook};

/// A command and what the rules, all together, should say to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleTest {
    /// The command line.
    pub command: String,
    /// What should come out.
    pub expect: Decision,
    /// The mode it is judged in.
    pub mode: ApprovalMode,
}

/// A test that did not come out as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFailure {
    /// The rule that carries the test.
    pub rule: String,
    /// The test.
    pub test: RuleTest,
    /// What came out.
    pub got: Decision,
    /// The rule that decided.
    pub decided_by: String,
}

impl RuleBook {
    /// Runs the tests of all rules: how many there are, and those that fail. `plan` says what a command line
    /// would do.
    pub fn run_tests(&self, plan: &dyn Fn(&str) -> Plan) -> (usize, Vec<TestFailure>) {
        let tests = self.rules.iter().flat_map(|rule| rule.tests.iter().map(move |test| (rule, test)));
        let mut count = 0;
        let mut failures = Vec::new();
        for (rule, test) in tests {
            count += 1;
            let verdict = self.explain(&plan(&test.command), test.mode).verdict;
            let got = Decision::from(&verdict);
            if got != test.expect {
                failures.push(TestFailure {
                    rule: rule.name(),
                    test: test.clone(),
                    got,
                    decided_by: verdict.rule().to_owned(),
                });
            }
        }
        (count, failures)
    }
}

impl From<&Verdict> for Decision {
    fn from(verdict: &Verdict) -> Decision {
        match verdict {
            Verdict::Allow { .. } => Decision::Allow,
            Verdict::Ask { .. } => Decision::Ask,
            Verdict::Deny { .. } => Decision::Deny,
        }
    }
}
