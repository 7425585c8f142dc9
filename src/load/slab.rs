//! Values that come and go, such as connections: a place for each, used again after it has gone.

/// Names one value of a slab, and never the one that has its place later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// As one number, for the poller.
    #[inline]
    pub fn token(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    #[inline]
    pub fn from_token(token: u64) -> Self {
        Self { index: token as u32, generation: (token >> 32) as u32 }
    }
}

#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<Entry<T>>,
    /// The place that became free last is used next.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    /// Counts the values that the place has had.
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub fn insert(&mut self, value: T) -> Key {
        if let Some(index) = self.free.pop() {
            let entry = &mut self.entries[index as usize];
            entry.value = Some(value);
            return Key { index, generation: entry.generation };
        }
        let key = Key { index: self.entries.len() as u32, generation: 0 };
        self.entries.push(Entry { generation: 0, value: Some(value) });
        key
    }

    /// The value of this key, unless it is gone.
    #[inline]
    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        let entry = self.entries.get_mut(key.index as usize)?;
        if entry.generation == key.generation { entry.value.as_mut() } else { None }
    }

    /// Takes the value out; its place is free.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let entry = self.entries.get_mut(key.index as usize)?;
        let value = entry.value.take_if(|_| entry.generation == key.generation)?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(value)
    }

    /// The keys of the values that fulfil the condition, by place.
    pub fn find(&self, condition: impl Fn(&T) -> bool) -> impl Iterator<Item = Key> {
        (0u32..).zip(&self.entries).filter_map(move |(index, entry)| {
            let is_meant = entry.value.as_ref().is_some_and(&condition);
            is_meant.then_some(Key { index, generation: entry.generation })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_and_the_key_of_what_was_there_names_nothing() {
        let mut slab = Slab::default();
        let [a, b] = ['a', 'b'].map(|value| slab.insert(value));
        assert_eq!((slab.remove(a), slab.remove(a)), (Some('a'), None));
        let c = slab.insert('c');
        assert_eq!((slab.get(a).copied(), slab.get(c).copied()), (None, Some('c')));
        assert_eq!(slab.entries.len(), 2, "the free place was taken");
        assert_eq!(Key::from_token(c.token()), c);
        assert_ne!(c.token(), a.token());
        assert_eq!(slab.find(|value| *value != 'c').collect::<Vec<_>>(), [b]);
    }
}
