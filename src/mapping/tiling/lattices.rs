//! Lattices of integer vectors.

/// Rows that span a lattice, in Hermite's normal form: the first element of a row other than zero is on the diagonal, and
/// those above it are less.
pub(super) type Basis = Vec<Vec<usize>>;

/// The lattices of an index that hold the multiples of `radices` along each axis.
pub(super) fn sublattices(radices: &[usize], index: usize) -> Vec<Basis> {
    let dimensions = radices.len();
    let mut bases: Vec<(usize, Basis)> = vec![(1, Vec::new())];
    // Rows come from the last to the first, as those below say how far the elements of one go.
    for row in (0..dimensions).rev() {
        let longer = |(volume, below): &(usize, Basis)| {
            let fits =
                |&diagonal: &usize| radices[row].is_multiple_of(diagonal) && index.is_multiple_of(volume * diagonal);
            let diagonals = (1..=radices[row]).filter(fits);
            let bases = diagonals.flat_map(|diagonal| {
                rows(dimensions, row, diagonal, below).into_iter().map(move |first| (volume * diagonal, first))
            });
            bases.map(|(volume, first)| (volume, [vec![first], below.clone()].concat())).collect::<Vec<_>>()
        };
        bases = bases.iter().flat_map(longer).collect();
    }
    let multiple = |axis: usize| (0..dimensions).map(|at| if at == axis { radices[axis] } else { 0 }).collect();
    let holds_multiples = |basis: &Basis| (0..dimensions).all(|axis| is_in(basis, multiple(axis)));
    let bases = bases.into_iter().filter(|(volume, _)| *volume == index).map(|(_, basis)| basis);
    bases.filter(holds_multiples).collect()
}

/// The rows with this element on the diagonal and less than the diagonal below after it.
fn rows(dimensions: usize, row: usize, diagonal: usize, below: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![0; dimensions]];
    rows[0][row] = diagonal;
    for (column, below) in (row + 1..).zip(below) {
        let with = |row: &Vec<usize>, value: usize| {
            let mut row = row.clone();
            row[column] = value;
            row
        };
        rows = rows.iter().flat_map(|row| (0..below[column]).map(move |value| with(row, value))).collect();
    }
    rows
}

/// Whether a lattice holds a vector.
pub(super) fn is_in(basis: &Basis, vector: Vec<usize>) -> bool {
    let mut rest: Vec<isize> = vector.into_iter().map(|value| value as isize).collect();
    for (row, steps) in basis.iter().enumerate() {
        let diagonal = steps[row] as isize;
        if rest[row] % diagonal != 0 {
            return false;
        }
        let times = rest[row] / diagonal;
        rest.iter_mut().zip(steps).for_each(|(value, &step)| *value -= times * step as isize);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lattices_of_an_index_are_all_found_once() {
        // Index 4 in two dimensions: the sum of the divisors, 1 + 2 + 4; each holds four times each unit vector.
        assert_eq!(sublattices(&[4, 4], 4).len(), 7);
        // Those that hold twice each unit vector: all even vectors.
        assert_eq!(sublattices(&[2, 2], 4), [vec![vec![2, 0], vec![0, 2]]]);
        assert_eq!(sublattices(&[3, 3], 2), Vec::<Basis>::new());
        for basis in sublattices(&[6, 4], 8) {
            let vectors = (0..24).map(|number| vec![number / 4, number % 4]);
            assert_eq!(vectors.filter(|vector| is_in(&basis, vector.clone())).count(), 3, "{basis:?}");
        }
    }

    #[test]
    fn a_lattice_holds_sums_of_its_rows() {
        let basis = vec![vec![3, 2], vec![0, 5]];
        assert!(is_in(&basis, vec![3, 7]) && is_in(&basis, vec![6, 4]) && is_in(&basis, vec![9, 1]));
        assert!(!is_in(&basis, vec![3, 3]) && !is_in(&basis, vec![1, 0]));
    }
}
