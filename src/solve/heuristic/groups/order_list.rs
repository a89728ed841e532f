//! A list whose items carry labels that ascend along it: which of two comes first is one comparison.

/// Items `0..n` in an order that changes by moving single items.
///
/// A moved item takes the label in the middle of its new neighbours'; where there is none left, all are numbered anew
/// (Dietz and Sleator 1987 in its simplest form). Moves take constant time but for that.
pub struct OrderList {
    label: Vec<u64>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl OrderList {
    /// The list of `order` among items `0..capacity`; those not in it may be inserted later.
    pub fn new(order: &[usize], capacity: usize) -> Self {
        let ends = capacity as u32;
        let mut list =
            Self { label: vec![0; capacity + 1], next: vec![ends; capacity + 1], previous: vec![ends; capacity + 1] };
        for &item in order {
            list.link(list.previous[capacity] as usize, item);
        }
        list.renumber();
        list
    }

    /// Whether `a` comes before `b`.
    #[inline]
    pub fn precedes(&self, a: usize, b: usize) -> bool {
        self.label[a] < self.label[b]
    }

    /// Sorts items by their place.
    pub fn sort(&self, items: &mut [u32]) {
        items.sort_unstable_by_key(|&item| self.label[item as usize]);
    }

    /// The items in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let next = |item: usize| Some(self.next[item] as usize).filter(|&item| item != self.ends());
        std::iter::successors(next(self.ends()), move |&item| next(item))
    }

    /// Takes `item` out of the list.
    pub fn remove(&mut self, item: usize) {
        let (before, after) = (self.previous[item], self.next[item]);
        self.next[before as usize] = after;
        self.previous[after as usize] = before;
    }

    /// Puts `item`, which is not in the list, right after `place`.
    pub fn insert_after(&mut self, place: usize, item: usize) {
        self.link(place, item);
        let upper = match self.next[item] as usize {
            after if after == self.ends() => u64::MAX,
            after => self.label[after],
        };
        let lower = self.label[place];
        self.label[item] = lower + (upper - lower) / 2;
        if self.label[item] == lower {
            self.renumber();
        }
    }

    /// Puts `item`, which is not in the list, right before `place`.
    pub fn insert_before(&mut self, place: usize, item: usize) {
        self.insert_after(self.previous[place] as usize, item);
    }

    /// The sentinel that follows the last item and precedes the first.
    fn ends(&self) -> usize {
        self.label.len() - 1
    }

    fn link(&mut self, place: usize, item: usize) {
        let after = self.next[place];
        (self.previous[item], self.next[item]) = (place as u32, after);
        self.next[place] = item as u32;
        self.previous[after as usize] = item as u32;
    }

    fn renumber(&mut self) {
        let spacing = u64::MAX / (self.label.len() as u64 + 1);
        let mut item = self.next[self.ends()] as usize;
        let mut label = 0;
        while item != self.ends() {
            label += spacing;
            self.label[item] = label;
            item = self.next[item] as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_ascend_however_often_a_place_is_taken() {
        let mut list = OrderList::new(&[2, 0, 1], 4);
        list.insert_before(2, 3);
        for _ in 0..200 {
            // Between the same two items again and again.
            list.remove(1);
            list.insert_after(3, 1);
            list.remove(2);
            list.insert_after(3, 2);
        }
        assert_eq!(list.iter().collect::<Vec<_>>(), [3, 2, 1, 0]);
        assert!(list.precedes(3, 2) && list.precedes(2, 1) && list.precedes(1, 0));
        let mut items = [0, 1, 2];
        list.sort(&mut items);
        assert_eq!(items, [2, 1, 0]);
    }
}
