//! Which model would answer, and whether its server does.

use std::time::Duration;

use charla_proto::text::{nearest, one_line};
use charla_providers::generator::list_models;

use super::{Finding, Health};
use crate::engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::models::planning::planning;
use crate::models::survey::survey;
use crate::models::{Access, Chain, Choice, Chooser};
use crate::network;
use crate::settings::Settings;

/// How long a server may take to list its models.
const PATIENCE: Duration = Duration::from_secs(10);

/// The model that a run would ask, whether its server answers, and what else is ready.
pub(super) async fn look(settings: &Settings, environment: &Environment) -> Vec<Finding> {
    let mut findings = match Chooser::new(settings, environment).chain().await {
        Ok(chain) => about_chain(&chain, settings, environment).await,
        Err(failure) => vec![wrong(&failure)],
    };
    for row in survey(settings, environment).await {
        if let Ok(state) = &row.state {
            findings.push(finding("provider", Health::Ok, &format!("{}: {state}", row.entry.name)));
        }
    }
    findings
}

async fn about_chain(chain: &Chain, settings: &Settings, environment: &Environment) -> Vec<Finding> {
    let plans = planning(settings).map(|model| format!(", {model} in plan mode")).unwrap_or_default();
    let chosen = format!("{} is chosen{plans}", chain.first.reference());
    let mut findings = vec![finding("model", Health::Ok, &chosen)];
    findings.extend(chain.left_out.iter().map(|why| finding("model", Health::Wrong, why)));
    findings.push(match reached(&chain.first, settings, environment).await {
        Ok(found) => found,
        Err(failure) => {
            let text = format!("{}: {}", chain.first.reference(), failure.message);
            Finding { hint: failure.hint.clone(), ..finding("model", Health::Wrong, &text) }
        }
    });
    findings
}

/// Asks the model's server for its models: that costs nothing, and tells whether it takes the key.
async fn reached(
    choice: &Choice,
    settings: &Settings,
    environment: &Environment,
) -> Result<Finding, Failure> {
    let ok = |text: &str| finding("model", Health::Ok, text);
    match &choice.access {
        _ if settings.model.responses.replay.is_some() => return Ok(ok("a recording answers")),
        Access::Engine(_) => {
            return engine::state(settings, environment).map(|state| ok(&state)).map_err(Failure::config);
        }
        Access::Google(..) => return Ok(ok("its server was not asked: it wants a login of Google's")),
        Access::Open | Access::Key(_) => {}
    }
    let client = network::client(settings, environment, choice.is_encrypted())?;
    let endpoint = choice.entry.endpoint()?;
    let asked = list_models(&client, &endpoint, choice.access.key());
    let Ok(listed) = tokio::time::timeout(PATIENCE, asked).await else {
        let limit = PATIENCE.as_secs();
        return Err(Failure::system(format!("its server did not answer within {limit} s")));
    };
    let models = listed.map_err(|error| Failure::from(&error))?;
    let count = match models.len() {
        1 => "1 model".to_owned(),
        several => format!("{several} models"),
    };
    match models.is_empty() || models.contains(&choice.model) {
        true => Ok(ok(&format!("its server answers and has {count}"))),
        false => Ok(unlisted(choice, &models, &count)),
    }
}

/// A model that its server does not list: most often a misspelt one, now and then one that is there all the same.
fn unlisted(choice: &Choice, models: &[String], count: &str) -> Finding {
    let text = format!("its server answers and has {count}, and {} is not among them", choice.model);
    let hint = match nearest(&choice.model, models.iter().map(String::as_str)) {
        Some(meant) => Hint::from(format!("did you mean `{}/{}`?", choice.entry.name, one_line(meant))),
        None => Hint::Model(charla_proto::Hint::CheckModelName),
    };
    Finding { hint: Some(hint), ..finding("model", Health::Note, &text) }
}

fn wrong(failure: &Failure) -> Finding {
    Finding { hint: failure.hint.clone(), ..finding("model", Health::Wrong, &failure.message) }
}

fn finding(about: &'static str, health: Health, text: &str) -> Finding {
    Finding { about, health, text: one_line(text), hint: None }
}
