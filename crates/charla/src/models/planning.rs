//! The model that plans, where it is another than the one that carries plans out.

use super::directory::Directory;
use crate::model_pairs;
use crate::settings::Settings;

/// The model that answers in plan mode, `provider/model`; none where it is the usual one. An agent has the model of its call.
pub(crate) fn planning(settings: &Settings) -> Option<String> {
    if settings.brought.agent.is_some() {
        return None;
    }
    let name = match settings.model.plan.as_deref() {
        Some(set) => set,
        None => model_pairs::planning(settings.model.name.as_deref()?)?,
    };
    let (entry, model) = Directory::new(settings).resolve(name).ok().filter(|_| !name.is_empty())?;
    Some(format!("{}/{}", entry.name, model.or_else(|| entry.default_model())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(name: Option<&str>, plan: Option<&str>) -> Option<String> {
        let mut settings = Settings::default();
        settings.model.name = name.map(str::to_owned);
        settings.model.plan = plan.map(str::to_owned);
        planning(&settings)
    }

    #[test]
    fn a_model_plans_where_one_is_set_or_a_name_stands_for_two() {
        let pro = Some("gemini/gemini-2.5-pro".to_owned());
        assert_eq!(planned(None, Some("gemini-2.5-pro")), pro);
        assert_eq!(planned(Some("auto-gemini-2.5"), None), pro);
        assert_eq!(planned(Some("auto-gemini-2.5"), Some("openai/gpt-5")), Some("openai/gpt-5".to_owned()));
        for (name, plan) in [(None, None), (Some("openai/gpt-5"), None), (Some("auto-gemini-2.5"), Some(""))]
        {
            assert_eq!(planned(name, plan), None, "{name:?} {plan:?}");
        }
    }

    #[test]
    fn every_model_of_a_pair_is_in_the_catalog() {
        for (_, works, plans) in model_pairs::PAIRS {
            for model in [works, plans] {
                let (provider, name) = model.split_once('/').unwrap();
                assert!(charla_providers::catalog::model(provider, name).context_window.is_some(), "{model}");
            }
        }
    }
}
