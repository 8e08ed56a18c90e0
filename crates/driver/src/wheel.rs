//! A timer wheel: deadlines in, out when due. Putting in and taking out cost the same however many there are.
//!
//! Eight levels of 64 slots; a slot of the lowest level is 2^16 ns (66 us) wide, one of each next level 64 times that,
//! so that together they hold any instant. A deadline stands in the level where its slot differs first from the present one and moves down
//! as time comes near. Deadlines keep their nanosecond: the width of a slot is no error.

use slab::Slab;

const SLOT_BITS: u32 = 16;
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = 8;

struct Entry<T> {
    at_ns: u64,
    /// Level and slot it stands in, and its place there.
    home: (u8, u8),
    place: u32,
    what: T,
}

/// Names a deadline in its wheel; used again after the deadline has left.
pub type Key = usize;

/// Deadlines in nanoseconds and what each is for.
pub struct Wheel<T> {
    now_ns: u64,
    entries: Slab<Entry<T>>,
    slots: Vec<Vec<Key>>,
    /// One bit for every slot that holds something.
    used: [u64; LEVELS],
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        let slots = (0..LEVELS * SLOTS).map(|_| Vec::new()).collect();
        Wheel { now_ns: 0, entries: Slab::new(), slots, used: [0; LEVELS] }
    }
}

impl<T> Wheel<T> {
    /// Adds what is due at an instant; the key finds it again until it is due or removed.
    pub fn insert(&mut self, at_ns: u64, what: T) -> Key {
        let key = self.entries.insert(Entry { at_ns, home: (0, 0), place: 0, what });
        self.place(key);
        key
    }

    /// Takes a deadline out before it is due; `None` when it has already left.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.entries.contains(key).then(|| {
            self.unplace(key);
            self.entries.remove(key).what
        })
    }

    /// What a key stands for; none when it was due or removed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.entries.get_mut(key).map(|entry| &mut entry.what)
    }

    /// How many entries wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// When to look next: the earliest deadline, or an instant before it at which deadlines move down.
    pub fn next(&self) -> Option<u64> {
        let level = (0..LEVELS).find(|&level| self.used[level] != 0)?;
        let slot = self.first_used(level);
        if level == 0 {
            let keys = &self.slots[slot];
            return keys.iter().map(|&key| self.entries[key].at_ns).min();
        }
        let shift = SLOT_BITS + LEVEL_BITS * level as u32;
        let (here, base) = (index(self.now_ns, level), self.now_ns >> shift);
        let ahead = (slot as u64).wrapping_sub(here as u64) & (SLOTS as u64 - 1);
        Some((base + ahead) << shift)
    }

    /// Hands over everything due at `now_ns`.
    pub fn advance(&mut self, now_ns: u64, mut due: impl FnMut(T)) {
        while let Some(next) = self.next() {
            if next > now_ns {
                break;
            }
            self.now_ns = self.now_ns.max(next);
            let level = (0..LEVELS).find(|&level| self.used[level] != 0).unwrap_or(0);
            let slot = self.first_used(level);
            if level > 0 {
                self.move_down(level, slot);
                continue;
            }
            let mut at = 0;
            while let Some(&key) = self.slots[slot].get(at) {
                match self.entries[key].at_ns <= now_ns {
                    true => {
                        self.unplace(key); // another one takes its place
                        due(self.entries.remove(key).what);
                    }
                    false => at += 1,
                }
            }
        }
        self.now_ns = self.now_ns.max(now_ns.min(self.next().unwrap_or(now_ns)));
    }

    /// The used slot of a level that comes first from now on.
    fn first_used(&self, level: usize) -> usize {
        let here = index(self.now_ns, level) as u32;
        (here as usize + self.used[level].rotate_right(here).trailing_zeros() as usize) % SLOTS
    }

    fn move_down(&mut self, level: usize, slot: usize) {
        let keys = std::mem::take(&mut self.slots[level * SLOTS + slot]);
        self.used[level] &= !(1 << slot);
        keys.iter().for_each(|&key| self.place(key));
    }

    fn place(&mut self, key: Key) {
        let at_ns = self.entries[key].at_ns.max(self.now_ns);
        let differs = (at_ns ^ self.now_ns) >> SLOT_BITS;
        let level = (u64::BITS - differs.leading_zeros()).saturating_sub(1) / LEVEL_BITS;
        let (level, slot) = (level as usize, index(at_ns, level as usize));
        let keys = &mut self.slots[level * SLOTS + slot];
        let entry = &mut self.entries[key];
        entry.home = (level as u8, slot as u8);
        entry.place = keys.len() as u32;
        keys.push(key);
        self.used[level] |= 1 << slot;
    }

    fn unplace(&mut self, key: Key) {
        let Entry { home: (level, slot), place, .. } = self.entries[key];
        let keys = &mut self.slots[usize::from(level) * SLOTS + usize::from(slot)];
        keys.swap_remove(place as usize);
        if let Some(&moved) = keys.get(place as usize) {
            self.entries[moved].place = place;
        } else if keys.is_empty() {
            self.used[usize::from(level)] &= !(1 << slot);
        }
    }
}

fn index(at_ns: u64, level: usize) -> usize {
    (at_ns >> (SLOT_BITS + LEVEL_BITS * level as u32)) as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Act {
        Insert(u64),
        Remove(usize),
        Advance(u64),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let span = prop_oneof![0..200_000u64, 0..10_000_000_000u64, 0..1_000_000_000_000_000u64];
        let act = prop_oneof![
            span.clone().prop_map(Act::Insert),
            (0..50usize).prop_map(Act::Remove),
            span.prop_map(Act::Advance),
        ];
        prop::collection::vec(act, 1..120)
    }

    proptest! {
        #[test]
        fn what_is_due_leaves_and_nothing_else_does(acts in acts()) {
            let mut wheel = Wheel::default();
            let mut model: Vec<(u64, Key, usize)> = Vec::new();
            let mut now = 0;
            for (number, act) in acts.into_iter().enumerate() {
                match act {
                    Act::Insert(after) => {
                        let at = now + after;
                        let key = wheel.insert(at, number);
                        model.push((at, key, number));
                    }
                    Act::Remove(at) if !model.is_empty() => {
                        let (_, key, number) = model.swap_remove(at % model.len());
                        prop_assert_eq!(wheel.remove(key), Some(number));
                    }
                    Act::Remove(_) => {}
                    Act::Advance(by) => {
                        now += by;
                        let mut left = Vec::new();
                        wheel.advance(now, |number| left.push(number));
                        let mut expected: Vec<usize> =
                            model.iter().filter(|one| one.0 <= now).map(|one| one.2).collect();
                        model.retain(|one| one.0 > now);
                        left.sort_unstable();
                        expected.sort_unstable();
                        prop_assert_eq!(left, expected);
                    }
                }
                prop_assert_eq!(wheel.len(), model.len());
                let earliest = model.iter().map(|one| one.0).min();
                match (wheel.next(), earliest) {
                    (None, None) => {}
                    (Some(next), Some(earliest)) => prop_assert!(next <= earliest && (next > now || earliest <= now)),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }

    #[test]
    fn the_next_look_comes_at_the_deadline_itself_when_it_is_near() {
        let mut wheel = Wheel::default();
        wheel.insert(50_123, ());
        assert_eq!(wheel.next(), Some(50_123));
    }
}
