//! Parts of a list of tasks, one for each of several processes.

use std::str::FromStr;

/// One of several parts of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    index: usize,
    /// Of how many.
    count: usize,
}

impl Shard {
    /// Whether the task at this place of the list is in the part.
    ///
    /// Neighbours go to different parts, and each round begins one part later: where methods repeat for every workload, all parts
    /// have some runs of each.
    pub fn holds(self, place: usize) -> bool {
        (place + place / self.count) % self.count == self.index
    }

    /// The part of a task of a Slurm array, by what Slurm tells it in `variable`s. The steps of an array follow one another.
    fn of_slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| {
            let name = format!("SLURM_ARRAY_TASK_{name}");
            let value = variable(&name).and_then(|value| value.parse::<usize>().ok());
            value.ok_or_else(|| format!("{name} is no number; `slurm` is for tasks of `sbatch --array`"))
        };
        let (id, least, count) = (number("ID")?, number("MIN")?, number("COUNT")?);
        let step = number("STEP").unwrap_or(1).max(1);
        let index = id.checked_sub(least).map(|above| above / step).filter(|&index| index < count);
        let index = index.ok_or_else(|| format!("SLURM_ARRAY_TASK_ID is {id}, of {count} from {least}"))?;
        Ok(Self { index, count })
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "slurm" {
            return Self::of_slurm(|name| std::env::var(name).ok());
        }
        let parts = text.split_once('/').and_then(|(part, count)| Some((part.parse().ok()?, count.parse().ok()?)));
        let shard = parts.filter(|&(part, count): &(usize, usize)| (1..=count).contains(&part));
        let cure = || "give a part and how many there are, such as `2/8` (from 1), or `slurm`".to_owned();
        shard.map(|(part, count)| Self { index: part - 1, count }).ok_or_else(cure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_is_in_one_part_and_each_part_has_every_method() {
        for (count, methods) in [(1, 5), (3, 12), (4, 12), (12, 12), (24, 12), (7, 3)] {
            let parts: Vec<Shard> = (1..=count).map(|part| format!("{part}/{count}").parse().unwrap()).collect();
            let tasks = 100 * methods;
            assert!((0..tasks).all(|task| parts.iter().filter(|part| part.holds(task)).count() == 1));
            for part in parts {
                let held: Vec<usize> = (0..tasks).filter(|&task| part.holds(task)).collect();
                assert!(held.len().abs_diff(tasks / count) <= 1, "{part:?}");
                let of_method = |method| held.iter().filter(|&task| task % methods == method).count();
                assert!((0..methods).all(|method| of_method(method) > 0), "{part:?} of {methods} methods");
            }
        }
    }

    #[test]
    fn parts_are_read() {
        assert_eq!("2/8".parse(), Ok(Shard { index: 1, count: 8 }));
        for bad in ["0/8", "9/8", "8", "a/8", "1/0", "-1/8", "1/8/2"] {
            assert!(bad.parse::<Shard>().unwrap_err().contains("from 1"), "{bad}");
        }
    }

    #[test]
    fn slurm_says_which_part_it_is() {
        let of = |variables: &'static [(&str, &str)]| {
            Shard::of_slurm(|name| {
                let value = variables.iter().find(|(known, _)| name.strip_prefix("SLURM_ARRAY_TASK_") == Some(known));
                value.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[("ID", "3"), ("MIN", "1"), ("COUNT", "4")]), Ok(Shard { index: 2, count: 4 }));
        let stepped: &[(&str, &str)] = &[("ID", "14"), ("MIN", "10"), ("COUNT", "4"), ("STEP", "2")];
        assert_eq!(of(stepped), Ok(Shard { index: 2, count: 4 }));
        assert!(of(&[]).unwrap_err().contains("sbatch --array"));
        assert!(of(&[("ID", "0"), ("MIN", "1"), ("COUNT", "4")]).is_err());
    }
}
