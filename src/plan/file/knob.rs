//! `[[knob]]` in the plan file: what is to be tried beside workers and threads.

use toml::de::{DeTable, DeValue};

use super::{Entry, Located, PlanError, Reader, number_text};
use crate::plan::written_knob::{Subject, Written, WrittenError};

const KEYS: [&str; 5] = ["env", "name", "set", "setting", "values"];

impl Reader<'_> {
    /// The knobs, in the order written.
    pub(super) fn knobs(&self, entry: &Entry<'_>) -> Result<Vec<Located<Written>>, PlanError> {
        let expected = || "written as [[knob]], with env or setting below it".to_string();
        let found = entry.value.get_ref();
        let list = found.as_array().ok_or_else(|| self.wrong_type(entry, found, expected()))?;
        let one = |element: &toml::Spanned<DeValue<'_>>| {
            let line = self.line(&element.span());
            let at = Entry { key: entry.key, line, value: element };
            let found = element.get_ref();
            let table = found.as_table().ok_or_else(|| self.wrong_type(&at, found, expected()))?;
            Ok(Located { value: self.knob(&at, table)?, line })
        };
        list.iter().map(one).collect()
    }

    fn knob(&self, at: &Entry<'_>, table: &DeTable<'_>) -> Result<Written, PlanError> {
        let entries = self.entries(table, Some(at.key), &KEYS)?;
        let find = |key: &str| entries.iter().find(|entry| entry.key == key);
        let text = |key: &str, example: &str| {
            let entry = find(key);
            entry.map(|entry| self.text(entry, example)).transpose()
        };
        let name = text("name", "a text such as \"jemalloc\"")?.map(str::to_string);
        let subject = match (find("env"), find("setting"), find("set")) {
            (None, None, Some(set)) => {
                Subject::ReadyMade(self.text(set, "a text such as \"ruby\"")?.to_string())
            }
            (Some(env), None, None) => match env.value.get_ref() {
                DeValue::String(name) => Subject::Variable(name.to_string()),
                DeValue::Table(_) => Subject::Variables(self.variables(env)?.value),
                other => {
                    let expected = "a variable's name, or a table such as { TZ = \"UTC\" }";
                    return Err(self.wrong_type(env, other, expected.to_string()));
                }
            },
            (None, Some(setting), None) => {
                Subject::Setting(self.text(setting, "a text such as \"preload_app\"")?.to_string())
            }
            _ => return Err(self.problem(at, WrittenError::Subject)),
        };
        let values = find("values").map_or(Ok(Vec::new()), |entry| self.values(entry))?;
        Ok(Written { name, subject, values })
    }

    fn values(&self, entry: &Entry<'_>) -> Result<Vec<String>, PlanError> {
        let expected = || "a list such as [\"2\"], [true, false] or [512, 4096]".to_string();
        let found = entry.value.get_ref();
        let list = found.as_array().ok_or_else(|| self.wrong_type(entry, found, expected()))?;
        let text = |value: &DeValue<'_>| {
            let switch = value.as_bool().map(|is_on| is_on.to_string());
            value.as_str().map(str::to_string).or(switch).or_else(|| number_text(value))
        };
        list.iter()
            .map(|element| {
                let found = element.get_ref();
                text(found).ok_or_else(|| self.wrong_type(entry, found, expected()))
            })
            .collect()
    }
}
