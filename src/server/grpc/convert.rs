//! Between etcd's wire types and the store's: requests by value, so that nothing is copied;
//! answers copied once, as keys are shared with the store.

pub(super) mod cluster;
pub(super) mod event;
pub(super) mod request;
pub(super) mod response;
