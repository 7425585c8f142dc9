//! Puma.

use super::{Adapter, App, CommandLine, Inspection, InspectionError, Listen, ProcessFacts, Recipe};
use crate::terms::{BootFailureKind, Configuration, Role, Settings};

/// Puma, cluster and single mode.
pub struct Puma;

impl Adapter for Puma {
    fn name(&self) -> &'static str {
        "puma"
    }
    fn inspect(&self, _: &App) -> CommandLine {
        unimplemented!()
    }
    fn read_inspection(&self, _: &str) -> Result<Inspection, InspectionError> {
        unimplemented!()
    }
    fn launch(&self, _: &App, _: Configuration, _: &Listen, _: &std::path::Path) -> Recipe {
        unimplemented!()
    }
    fn role(&self, _: Configuration, _: ProcessFacts<'_>) -> Role {
        unimplemented!()
    }
    fn settings(&self, _: &App, _: Configuration) -> Settings {
        unimplemented!()
    }
    fn recognise_failure(&self, _: &[String]) -> BootFailureKind {
        unimplemented!()
    }
}
