//! Adding to vectors that mostly have one entry, without spare capacity for more.
//!
//! Each of a hundred thousand tenants has several such vectors; the usual first capacity of four
//! would be wasted.

pub(crate) fn push_exact<T>(list: &mut Vec<T>, entry: T) {
    insert_exact(list, list.len(), entry);
}

pub(crate) fn insert_exact<T>(list: &mut Vec<T>, index: usize, entry: T) {
    if list.capacity() == 0 {
        list.reserve_exact(1);
    }
    list.insert(index, entry);
}
