//! Pods of a real cluster. `make test-k8s` makes one on this machine, and names its folder by
//! `SWEETSPOT_KUBERNETES`; without it there is none, and nothing is tried.

mod cluster;
mod doctor;
mod faults;
mod load;
mod tune;
