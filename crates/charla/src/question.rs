//! Questions of the model where answers are typed: what to type, and what was meant.

use charla_proto::{Question, QuestionKind};

/// What kind of answer a question of the model wants.
pub fn prompt(question: &Question) -> &'static str {
    match question.kind {
        QuestionKind::Yesno => "y or n",
        QuestionKind::Text => "your words",
        QuestionKind::Choice if question.multi_select => "numbers, or your own words",
        QuestionKind::Choice => "a number, or your own words",
    }
}

/// What a line says to a question: numbers stand for choices, anything else for itself.
pub fn answer(question: &Question, line: &str) -> String {
    let line = line.trim();
    if question.kind == QuestionKind::Yesno {
        match line.to_lowercase().as_str() {
            "y" | "yes" => return "yes".to_owned(),
            "n" | "no" => return "no".to_owned(),
            _ => return line.to_owned(),
        }
    }
    let words = line.split([',', ' ']).filter(|word| !word.is_empty());
    let chosen: Option<Vec<&str>> = words
        .map(|word| {
            let place = word.parse::<usize>().ok()?.checked_sub(1)?;
            question.options.get(place).map(|option| option.label.as_str())
        })
        .collect();
    match chosen {
        Some(labels) if labels.len() == 1 || (question.multi_select && !labels.is_empty()) => {
            labels.join(", ")
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use charla_proto::QuestionOption;

    use super::*;

    #[test]
    fn numbers_stand_for_choices_and_words_for_themselves() {
        let option = |label: &str| QuestionOption { label: label.to_owned(), description: String::new() };
        let mut question = Question { options: vec![option("red"), option("blue")], ..Question::default() };
        assert_eq!(answer(&question, "2\n"), "blue");
        assert_eq!(answer(&question, "green"), "green");
        assert_eq!(answer(&question, "3"), "3");
        assert_eq!(answer(&question, "1 2"), "1 2");
        assert_eq!(answer(&question, ""), "");
        question.multi_select = true;
        assert_eq!(answer(&question, "1, 2"), "red, blue");
        question.kind = QuestionKind::Yesno;
        assert_eq!(answer(&question, "Y"), "yes");
    }
}
