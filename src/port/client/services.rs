//! The Lock and Election services of a real etcd.

use etcd_client::{LockOptions, ProclaimOptions, ResignOptions};

use super::Client;
use crate::domain::{Key, KeyRange, KeyValue, LeaderKey, LeaseId, Revision};
use crate::port::convert;
use crate::port::error::{name_of, range_name};
use crate::port::{Header, PortError, Services};

impl Services for Client {
    async fn lock(&self, name: Key, lease: LeaseId) -> Result<Key, PortError> {
        let doing = || format!("take lock {}", name_of(&name));
        let call = |name: Key| {
            let mut locks = self.shared.etcd.lock_client();
            async move { locks.lock(&*name, Some(LockOptions::new().with_lease(lease.0))).await }
        };
        Ok(Key::from(self.patient_call(name.clone(), call, doing).await?.0.key))
    }

    async fn unlock(&self, key: Key) -> Result<Header, PortError> {
        let name = range_name(&KeyRange::single(&key));
        let call = |key: Key| {
            let mut locks = self.shared.etcd.lock_client();
            async move { locks.unlock(&*key).await }
        };
        let answer = self.call(key, call, || format!("unlock {name}")).await?;
        Ok(convert::header(answer.0.header))
    }

    async fn campaign(&self, name: Key, lease: LeaseId, value: Vec<u8>) -> Result<LeaderKey, PortError> {
        let doing = || format!("campaign in election {}", name_of(&name));
        let call = |(name, value): (Key, Vec<u8>)| {
            let mut elections = self.shared.etcd.election_client();
            async move { elections.campaign(&*name, value, lease.0).await }
        };
        let won = self.patient_call((name.clone(), value), call, doing).await?.0.leader.unwrap_or_default();
        Ok(LeaderKey {
            name: Key::from(won.name),
            key: Key::from(won.key),
            created: Revision(won.rev),
            lease: LeaseId(won.lease),
        })
    }

    async fn proclaim(&self, leader: LeaderKey, value: Vec<u8>) -> Result<Header, PortError> {
        let doing = || format!("proclaim in election {}", name_of(&leader.name));
        let call = |(leader, value): (LeaderKey, Vec<u8>)| {
            let mut elections = self.shared.etcd.election_client();
            let options = ProclaimOptions::new().with_leader(won_with(&leader));
            async move { elections.proclaim(value, Some(options)).await }
        };
        let answer = self.call((leader.clone(), value), call, doing).await?;
        Ok(convert::header(answer.0.header))
    }

    async fn resign(&self, leader: LeaderKey) -> Result<Header, PortError> {
        let doing = || format!("resign from election {}", name_of(&leader.name));
        let call = |leader: LeaderKey| {
            let mut elections = self.shared.etcd.election_client();
            let options = ResignOptions::new().with_leader(won_with(&leader));
            async move { elections.resign(Some(options)).await }
        };
        let answer = self.call(leader.clone(), call, doing).await?;
        Ok(convert::header(answer.0.header))
    }

    async fn leader(&self, name: Key) -> Result<Option<KeyValue>, PortError> {
        let doing = || format!("ask who leads election {}", name_of(&name));
        let call = |name: Key| {
            let mut elections = self.shared.etcd.election_client();
            async move { elections.leader(&*name).await }
        };
        match self.call(name.clone(), call, doing).await {
            Ok(answer) => Ok(answer.0.kv.map(convert::key_value)),
            Err(error) if error.is_no_leader() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn won_with(leader: &LeaderKey) -> etcd_client::LeaderKey {
    etcd_client::LeaderKey::new()
        .with_name(&*leader.name)
        .with_key(&*leader.key)
        .with_rev(leader.created.0)
        .with_lease(leader.lease.0)
}
