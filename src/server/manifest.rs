//! What pods of an app are to be told and to have, as commands and as texts to keep in a
//! repository: a patch, and a chart's values.
//!
//! In: variables filled in, and what each pod has. Out: lines for people. Must not run, read or
//! write anything.

use super::pods::PodTemplate;
use crate::terms::{Bytes, Cores};

/// What was recommended of a Deployment.
pub struct Manifest<'a> {
    pub template: &'a PodTemplate,
    /// Names and values, in the order in which they are written.
    pub variables: &'a [(&'a String, &'a String)],
    /// What an image's app was cut into; `None`: pods and their limits are the user's own.
    pub cut: Option<Cut<'a>>,
}

/// Equal pods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut<'a> {
    pub pods: u16,
    /// Of all together: what they were measured with, requested and limited alike.
    pub cores: Cores,
    pub memory: Bytes,
    /// See [`Recommended::a_pod_less`](super::Recommended::a_pod_less).
    pub a_pod_less: Option<(f64, &'a str)>,
}

/// `helm create` calls them so, all but the variables, for which it has nothing.
const HELM: &str = "# or as a Helm chart's values, where its template names them so";

impl Manifest<'_> {
    /// Commands that change the Deployment, and the same to keep: empty where there is no variable
    /// to set.
    pub fn lines(&self) -> String {
        if self.variables.is_empty() {
            return String::new();
        }
        let parts = [Some(self.commands()), self.patch(), Some(self.values())];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    fn commands(&self) -> String {
        let PodTemplate { deployment, namespace, container, .. } = self.template;
        let namespace: String = namespace.iter().map(|name| format!(" -n {name}")).collect();
        let container: String = container.iter().map(|name| format!(" -c {name}")).collect();
        let variables = self.variables.iter().map(|it| format!(" {}", argument(it)));
        let variables: String = variables.collect();
        let of = format!("{namespace}{container}");
        let set = format!("kubectl set env deployment/{deployment}{variables}{of}");
        let Some(cut @ Cut { pods, .. }) = self.cut else { return set };
        let (cpu, memory) = cut.of_each();
        let has = format!("cpu={cpu},memory={memory}");
        format!(
            "{}\n{set}\n\
             kubectl set resources deployment/{deployment} --requests={has} --limits={has}{of}\n\
             kubectl scale deployment/{deployment} --replicas={pods}{namespace}",
            cut.comment()
        )
    }

    /// `None`: which container is to be changed is not known, and another's name would add one.
    fn patch(&self) -> Option<String> {
        let PodTemplate { deployment, namespace, container, .. } = self.template;
        // The Deployment of who tuned an image is theirs to name, and so is its container.
        let container = container.as_ref().or(self.cut.is_some().then_some(deployment))?;
        let namespace = namespace.iter().map(|name| format!(", namespace: {name}"));
        let namespace: String = namespace.collect();
        let replicas = self.cut.iter().map(|cut| format!("  replicas: {}\n", cut.pods));
        let replicas: String = replicas.collect();
        let has = self.cut.map(|cut| format!("\n        resources: {}", cut.resources()));
        let variables = self.variables.iter().map(|it| format!("\n        - {}", variable(it)));
        let variables: String = variables.collect();
        Some(format!(
            "# or as a patch, for kustomize or kubectl patch\napiVersion: apps/v1\n\
             kind: Deployment\nmetadata: {{name: {deployment}{namespace}}}\nspec:\n{replicas}  \
             template:\n    spec:\n      containers:\n      - name: {container}{}\n        \
             env:{variables}",
            has.unwrap_or_default()
        ))
    }

    fn values(&self) -> String {
        let variables: Vec<_> = self.variables.iter().map(variable).collect();
        let of_cut = self.cut.map(|cut| {
            let has = cut.resources();
            format!("\nreplicaCount: {}\nresources: {has}", cut.pods)
        });
        format!("{HELM}{}\nenv: [{}]", of_cut.unwrap_or_default(), variables.join(", "))
    }
}

/// A word for a shell.
fn argument((name, value): &(&String, &String)) -> String {
    // A variable's value never holds a zero byte, the one thing that cannot be quoted.
    let value = shlex::try_quote(value).unwrap_or_default();
    format!("{name}={value}")
}

/// In YAML, which takes JSON's strings.
fn variable((name, value): &(&String, &String)) -> String {
    format!("{{name: {name}, value: {}}}", serde_json::json!(value))
}

impl Cut<'_> {
    /// Amounts as Kubernetes writes them.
    fn of_each(&self) -> (String, String) {
        let thousandths = (1e3 * self.cores.get() / f64::from(self.pods)).round();
        let bytes = self.memory.0 / u64::from(self.pods);
        let memory = match bytes.is_multiple_of(MIB) {
            true => format!("{}Mi", bytes / MIB),
            false => bytes.to_string(),
        };
        (format!("{thousandths}m"), memory)
    }

    /// With both alike a pod's quality of service is Guaranteed, as it was when it was measured.
    fn resources(&self) -> String {
        let (cpu, memory) = self.of_each();
        let has = format!("{{cpu: {cpu}, memory: {memory}}}");
        format!("{{requests: {has}, limits: {has}}}")
    }

    /// What it is, and what a lost pod does: by what it has, and as it was measured.
    fn comment(&self) -> String {
        let pods = self.pods;
        if pods == 1 {
            return "# one pod, with the cores and memory measured".to_string();
        }
        let share = 100.0 / f64::from(pods);
        let measured = match self.a_pod_less {
            Some((rate_rps, seen)) => format!("\n# measured at {rate_rps:.0} requests/s: {seen}"),
            None => String::new(),
        };
        format!(
            "# {pods} pods, each with an equal part of the cores and memory measured: a lost one \
             takes {share:.0} % along{measured}"
        )
    }
}

const MIB: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_several_words_is_one_word_for_the_shell_and_one_text_in_yaml() {
        let template =
            PodTemplate { deployment: "shop".into(), namespace: None, container: None, cut: None };
        let (name, value) = ("ARGS".to_string(), "--workers 4 --name \"a\"".to_string());
        let manifest = Manifest { template: &template, variables: &[(&name, &value)], cut: None };
        let lines = manifest.lines();
        let expected = "kubectl set env deployment/shop ARGS='--workers 4 --name \"a\"'";
        assert_eq!(lines.lines().next(), Some(expected));
        let quoted = r#"env: [{name: ARGS, value: "--workers 4 --name \"a\""}]"#;
        assert_eq!(lines.lines().last(), Some(quoted));
    }

    #[test]
    fn parts_that_are_no_whole_amounts_are_rounded() {
        assert_eq!(three(None).of_each(), ("333m".to_string(), "357913941".to_string()));
    }

    fn three(a_pod_less: Option<(f64, &str)>) -> Cut<'_> {
        Cut { pods: 3, cores: Cores::new(1.0).unwrap(), memory: Bytes(1 << 30), a_pod_less }
    }

    #[test]
    fn what_a_lost_pod_does_is_told_as_it_was_measured_where_it_was() {
        let computed = "# 3 pods, each with an equal part of the cores and memory measured: a lost \
                        one takes 33 % along";
        assert_eq!(three(None).comment(), computed);
        let seen = "with 2 of 3 pods left p95 812 ms, p99 1.60 s, 3.4 % failed";
        let measured = format!("{computed}\n# measured at 178 requests/s: {seen}");
        assert_eq!(three(Some((178.2, seen))).comment(), measured);
    }
}
