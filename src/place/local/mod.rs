//! App servers started on this machine.
