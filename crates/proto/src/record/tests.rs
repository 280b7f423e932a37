use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// Lines of every kind, with every field and every nested type it can have.
const SAMPLES: &str = include_str!("samples.jsonl");

fn one_of(sample: Index) -> &'static str {
    let lines: Vec<&str> = SAMPLES.lines().collect();
    lines[sample.index(lines.len())]
}

fn written(record: &Record) -> Value {
    serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()
}

fn count_objects(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(count_objects).sum::<usize>(),
        Value::Array(items) => items.iter().map(count_objects).sum(),
        _ => 0,
    }
}

/// Puts a field into the object number `n`, counted from the outermost.
fn insert(value: &mut Value, n: &mut usize, key: &str, new: &Value) {
    let inner: Vec<&mut Value> = match value {
        Value::Object(fields) if *n == 0 => {
            fields.insert(key.to_owned(), new.clone());
            *n = usize::MAX;
            return;
        }
        Value::Object(fields) => {
            *n -= 1;
            fields.values_mut().collect()
        }
        Value::Array(items) => items.iter_mut().collect(),
        _ => return,
    };
    inner.into_iter().for_each(|value| insert(value, n, key, new));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..3).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

#[test]
fn every_kind_has_a_sample_that_is_understood_whole_and_written_as_it_was_read() {
    let records: Vec<Record> = SAMPLES.lines().map(|line| Record::from_json(line).unwrap()).collect();
    for (record, line) in records.iter().zip(SAMPLES.lines()) {
        assert_eq!(serde_json::to_string(record).unwrap(), line);
        assert_eq!(record.original, None, "{line}");
    }
    for kind in Fact::KINDS {
        assert!(records.iter().any(|record| record.fact.kind() == *kind), "no sample of {kind}");
    }
}

proptest! {
    #[test]
    fn unknown_fields_at_any_depth_survive_and_only_the_place_and_time_can_change(
        sample in any::<Index>(),
        unknown in prop::collection::vec((any::<Index>(), "new.{0,8}", any_json()), 1..4),
        seq in any::<u64>(),
    ) {
        let mut line: Value = serde_json::from_str(one_of(sample)).unwrap();
        for (place, key, value) in &unknown {
            let mut place = place.index(count_objects(&line));
            insert(&mut line, &mut place, key, value);
        }
        let mut record = Record::from_json(&line.to_string()).unwrap();
        prop_assert_eq!(written(&record), line.clone());
        prop_assert_eq!(serde_json::from_value::<Record>(line.clone()).unwrap(), record.clone());
        // A fork gives records new places; then they are read and written again.
        record.seq = seq;
        line["seq"] = seq.into();
        let text = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(written(&Record::from_json(&text).unwrap()), line);
    }

    #[test]
    fn the_order_of_fields_and_how_keys_are_escaped_do_not_matter(sample in any::<Index>(), turn in 0_usize..40) {
        let line = one_of(sample);
        let Value::Object(fields) = serde_json::from_str(line).unwrap() else { panic!("no object") };
        let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
        let turn = turn % fields.len();
        fields.rotate_left(turn);
        let escaped = |key: &str| key.replace('a', "\\u0061");
        let fields: Vec<String> =
            fields.iter().map(|(key, value)| format!(" \"{}\" : {value} ", escaped(key))).collect();
        let record = Record::from_json(&format!("{{{}}}", fields.join(","))).unwrap();
        prop_assert_eq!(record, Record::from_json(line).unwrap());
    }
}

#[test]
fn numbers_that_no_type_of_ours_holds_survive() {
    let line = r#"{"seq":1,"at":2,"kind":"restored","new":[1e999,123456789012345678901234567890]}"#;
    let record = Record::from_json(line).unwrap();
    assert_eq!(serde_json::to_string(&record).unwrap(), line);
}

#[test]
fn fields_with_a_default_may_be_left_out() {
    let line = r#"{"seq":1,"at":2,"kind":"turn_started","turn":1,"prompt":{"parts":[{"text":"a"}]}}"#;
    let record = Record::from_json(line).unwrap();
    assert_eq!(record, Record::new(1, 2, record.fact.clone()));
}

#[test]
fn a_line_that_is_cut_anywhere_is_no_record() {
    for line in SAMPLES.lines() {
        for (end, _) in line.char_indices() {
            let error = Record::from_json(line.get(..end).unwrap()).unwrap_err();
            assert!(error.is_eof(), "{error}: {end} of {line}");
        }
    }
}
