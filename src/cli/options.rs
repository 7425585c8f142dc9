//! The options of a plan as arguments, made of the rows that `plan` has of them.

use std::marker::PhantomData;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, ValueHint};

use crate::plan::{Form, Key, Typed, choices};

/// An option as `tune` has it.
pub fn argument(key: Key) -> Arg {
    let row = key.row();
    let argument = Arg::new(row.name).long(row.name).help(row.help).help_heading(row.heading);
    let argument = match key {
        Key::Header => argument.short('H'),
        Key::Yes => argument.short('y'),
        Key::Knob => argument.alias("knobs"),
        // Of an image that is cut into pods it is that of all of them.
        Key::Cpus => argument.visible_alias("total-cpus"),
        Key::DryRun => argument.visible_alias("print-plan"),
        Key::Quick => argument.conflicts_with(Key::Budget.name()),
        _ => argument,
    };
    let path =
        |argument: Arg, hint| argument.value_parser(clap::value_parser!(PathBuf)).value_hint(hint);
    match row.form {
        Form::Flag => return argument.action(ArgAction::SetTrue),
        Form::Folder => path(argument, ValueHint::DirPath),
        Form::File => path(argument, ValueHint::FilePath),
        Form::Table(_) => argument.action(ArgAction::Append),
        Form::Price => argument.allow_hyphen_values(true),
        Form::Switch => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        Form::Text | Form::Number | Form::Counts | Form::Sizes => argument,
    }
    .value_name(row.value_name)
}

/// For an argument outside a plan that takes the words of such an option.
pub fn words_of(key: Key) -> PossibleValuesParser {
    PossibleValuesParser::new(choices(key))
}

/// For an argument that takes one of these words, as what stands beside it.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.iter().map(|(word, _)| *word)).map(move |word| {
        let found = words.iter().find(|(known, _)| *known == word);
        found.map(|(_, value)| *value).expect("clap lets no other word through")
    })
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        let mut keys = Key::ALL.to_vec();
        keys.sort_by_key(|key| match key {
            // Shown beside the memory, though the plan file's keys are listed in another order.
            Key::DbConnections => (Key::Memory, 1),
            key => (*key, 0),
        });
        command.args(keys.into_iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Some of a plan's options, for a verb with a help of its own for them.
pub trait Selection {
    /// In the order of the help.
    const OPTIONS: &'static [(Key, &'static str)];
    /// What the help has above them.
    const HEADING: &'static str;
    /// The verb's own flag without which they mean nothing; `None`: there is none.
    const BELONGS_TO: Option<&'static str> = None;
}

/// What was typed of them.
pub struct TypedOf<S>(pub Typed, PhantomData<S>);

impl<S: Selection> Args for TypedOf<S> {
    fn augment_args(command: Command) -> Command {
        command.args(S::OPTIONS.iter().map(|(key, help)| {
            let argument = argument(*key).help(*help).help_heading(S::HEADING);
            match S::BELONGS_TO {
                Some(flag) => argument.requires(flag),
                None => argument,
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Selection> FromArgMatches for TypedOf<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Typed::from_arg_matches(matches).map(|typed| Self(typed, PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Takes those that the command has.
impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Self::default();
        let is_known = |key: &Key| matches.try_contains_id(key.name()).is_ok();
        for key in Key::ALL.iter().copied().filter(is_known) {
            let name = key.name();
            match key.row().form {
                Form::Folder | Form::File => {
                    let path = matches.get_one::<PathBuf>(name);
                    typed.paths.extend(path.map(|path| (key, path.clone())));
                }
                Form::Flag => {
                    if matches.get_one::<bool>(name) == Some(&true) {
                        typed.set(key, "true");
                    }
                }
                _ => {
                    let texts = matches.get_many::<String>(name);
                    typed = typed.with_all(key, texts.into_iter().flatten());
                }
            }
        }
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
