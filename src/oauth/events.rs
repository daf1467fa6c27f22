//! What happens to grants and credentials, for whoever keeps a record of it.
//!
//! The gateway learns of these without a workspace (a grant is a person's, not a workspace's), so the listener,
//! `audited`, decides what belongs into a workspace's audit log. May use: nothing.

use futures_util::future::BoxFuture;
use std::net::IpAddr;
use strum::{IntoStaticStr, VariantNames};
use uuid::Uuid;

/// Why a credential that is known was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dead {
    /// Its time is over.
    Expired,
    /// It, or what it came from, was revoked or exchanged.
    Revoked,
}

/// Something that happened; never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A person allowed a client.
    Granted {
        /// The grant.
        grant: Uuid,
        /// The client.
        client: String,
        /// What the client is called.
        name: String,
        /// The person.
        user: Uuid,
    },
    /// A person ended a grant.
    GrantRevoked {
        /// The grant.
        grant: Uuid,
        /// What the client is called.
        name: String,
        /// The person.
        user: Uuid,
    },
    /// A client gave a token back.
    TokenRevoked {
        /// The grant.
        grant: Uuid,
        /// The client.
        client: String,
        /// What the client is called.
        name: String,
        /// The person.
        user: Uuid,
    },
    /// A code was presented twice or with a wrong proof: its grant has ended.
    CodeMisused {
        /// The grant.
        grant: Uuid,
        /// The client that presented it.
        client: String,
        /// What the client is called.
        name: String,
        /// The person.
        user: Uuid,
    },
    /// A refresh token was presented again: its grant has ended.
    RefreshReused {
        /// The grant.
        grant: Uuid,
        /// The client that presented it.
        client: String,
        /// What the client is called.
        name: String,
        /// The person.
        user: Uuid,
    },
    /// A gateway key was made.
    KeyMinted {
        /// The key.
        key: Uuid,
        /// What it is for.
        title: String,
        /// The person.
        user: Uuid,
        /// The only workspace it opens.
        workspace: Option<Uuid>,
    },
    /// A gateway key was revoked.
    KeyRevoked {
        /// The key.
        key: Uuid,
        /// What it is for.
        title: String,
        /// The person.
        user: Uuid,
        /// The only workspace it opens.
        workspace: Option<Uuid>,
    },
    /// A known token or key was presented when it was no longer good.
    CredentialRefused {
        /// Its grant, or itself when it is a key.
        id: Uuid,
        /// The person.
        user: Uuid,
        /// Why.
        why: Dead,
    },
}

/// The request by which something happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// What sent it, empty when it does not say.
    pub user_agent: String,
}

impl Event {
    /// The place of its name among its [`VariantNames`], which are what events are called in figures.
    pub fn number(&self) -> usize {
        let name: &str = self.into();
        Self::VARIANTS.iter().position(|known| *known == name).unwrap_or_default()
    }
}

/// Is told of events, on the way of a request, which waits for it; a fault in it is its own matter.
pub trait Events: Send + Sync + 'static {
    /// Something happened, by a request `from` somewhere; by none when an operator did it at the command line.
    fn happened<'e>(&'e self, event: &'e Event, from: Option<&'e Origin>) -> BoxFuture<'e, ()>;
}

/// Writes events to the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logged;

impl Events for Logged {
    fn happened<'e>(&'e self, event: &'e Event, _: Option<&'e Origin>) -> BoxFuture<'e, ()> {
        match event {
            Event::CodeMisused { .. } | Event::RefreshReused { .. } => tracing::warn!(?event, "access"),
            Event::CredentialRefused { .. } => tracing::debug!(?event, "access"),
            _ => tracing::info!(?event, "access"),
        }
        Box::pin(std::future::ready(()))
    }
}
