//! The one integration binary: a module a subject.
