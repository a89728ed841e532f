//! Options together with the words that gave them, so that they can be handed on to a process of our own.

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// A group of options, and how they stood on the command line.
#[derive(Debug)]
pub struct Verbatim<T> {
    /// The options.
    pub options: T,
    words: Vec<(String, String)>,
}

impl<T> Verbatim<T> {
    /// The options that were given, one word each, but for the option called `except`.
    pub fn words_without(&self, except: &str) -> Vec<String> {
        self.words.iter().filter(|(name, _)| name != except).map(|(_, word)| word.clone()).collect()
    }

    /// The same of those options alone that the group `G` has.
    pub fn words_of_without<G: Args>(&self, except: &str) -> Vec<String> {
        let group = G::augment_args(Command::new(""));
        let is_of_group = |name: &str| group.get_arguments().any(|argument| argument.get_long() == Some(name));
        let words = self.words.iter().filter(|(name, _)| name != except && is_of_group(name));
        words.map(|(_, word)| word.clone()).collect()
    }
}

impl<T: Args> FromArgMatches for Verbatim<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self { options: T::from_arg_matches(matches)?, words: words(&T::augment_args(Command::new("")), matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: Args> Args for Verbatim<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

fn words(group: &Command, matches: &ArgMatches) -> Vec<(String, String)> {
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let words = |argument: &clap::Arg| -> Vec<(String, String)> {
        let (id, Some(name)) = (argument.get_id().as_str(), argument.get_long()) else { return Vec::new() };
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            return vec![(name.to_owned(), format!("--{name}"))];
        }
        let values = matches.get_raw(id).into_iter().flatten().map(|value| value.to_string_lossy());
        // Without a delimiter each value is an option given once more, which may mean more than a longer list does.
        let options = match argument.get_value_delimiter() {
            Some(_) => vec![values.collect::<Vec<_>>().join(",")],
            None => values.map(std::borrow::Cow::into_owned).collect(),
        };
        options.into_iter().map(|value| (name.to_owned(), format!("--{name}={value}"))).collect()
    };
    group.get_arguments().filter(|argument| given(argument.get_id().as_str())).flat_map(words).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::problem_args::ProblemArgs;
    use crate::cli::reading_args::{PlatformArgs, ReadingOptions};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        reading: Verbatim<ReadingOptions>,
        #[command(flatten)]
        problem: Verbatim<ProblemArgs>,
    }

    #[test]
    fn options_come_out_as_they_went_in() {
        let line = "x|--memory|16GiB,1 GB|--training|--scope=convex,acyclic|--cost|overlap|--together=a,b|--together=c";
        let parsed = Line::try_parse_from(line.split('|')).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(parsed.reading.words_without(""), ["--memory=16GiB,1 GB", "--training"]);
        let together = ["--together=a,b", "--together=c"];
        assert_eq!(parsed.problem.words_without("scope"), [&["--cost=overlap"][..], &together].concat());
        assert_eq!(
            parsed.problem.words_without(""),
            [&["--scope=convex,acyclic", "--cost=overlap"][..], &together].concat()
        );
        assert_eq!(parsed.reading.words_of_without::<PlatformArgs>(""), ["--memory=16GiB,1 GB"]);
        assert_eq!(
            parsed.problem.words_of_without::<ProblemArgs>("scope"),
            [&["--cost=overlap"][..], &together].concat()
        );
    }
}
