//! The embedded cluster: etcd's API on loopback in front of a cluster without I/O.

#[expect(dead_code, reason = "the cluster's driver uses it")]
mod door;
#[cfg_attr(not(test), expect(dead_code, reason = "the cluster's driver uses it"))]
mod grpc;
