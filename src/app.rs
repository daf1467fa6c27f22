//! The composition root: the one place that connects all parts.
//!
//! `service` builds the parts, `reload` builds them again with other settings while the gateway serves.
//!
//! May use: everything but `cli` and `sandbox`.

mod authorization;
mod background;
mod counts;
mod cut_over;
mod derived;
mod files;
mod foreign_calls;
mod foreign_writes;
mod peers;
mod proofs;
mod ready;
mod reload;
mod service;
mod shared_indexes;
mod start;
mod surface;

pub use authorization::{bind_store, open_oauth};
pub use reload::{ReloadError, Reloader};
pub(crate) use start::StartError;
pub use start::compile_plan;

use crate::access::paths;
use crate::admin::Admin;
use crate::context::Context;
use crate::edge::{Tls, serve, stack};
use crate::load::Memory;
use crate::oauth::OAuth;
use crate::settings::{Loaded, Settings};
use crate::store::Joined;
use crate::v1::{V1Key, V1Request};
use background::until_dropped;
use derived::patience;
use files::Files;
use parking_lot::Mutex;
use reload::Current;
use service::Service;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Time limit for v1 to answer at the start.
const ASKING: Duration = Duration::from_secs(5);

/// A gateway that is ready to serve.
pub struct App {
    reloader: Reloader,
    memory: Memory,
    settings: Settings,
    oauth: OAuth,
    /// This process as a member of the processes that share the store.
    joined: Joined,
}

impl App {
    /// Builds the gateway of `settings`.
    pub async fn build(settings: &Settings) -> Result<Self, StartError> {
        Self::built(settings, None).await
    }

    /// Builds the gateway and keeps `loaded`, so that a reload can tell which settings differ.
    pub async fn build_from(loaded: Loaded) -> Result<Self, StartError> {
        let settings = loaded.settings.clone();
        Self::built(&settings, Some(loaded)).await
    }

    async fn built(settings: &Settings, loaded: Option<Loaded>) -> Result<Self, StartError> {
        let tls = settings.listen.tls.as_ref().map(Tls::open).transpose()?;
        let files = Files::read(settings)?;
        let token = files.token.clone();
        let admin = Admin::open(&settings.admin, token.clone(), patience(settings)).await?.map(Arc::new);
        let (mut service, joined, surface) = Service::start(settings, files).await?;
        let stack = stack(settings, surface, service.lasting.memory.clone());
        if let Some(admin) = &admin {
            admin.show(&settings.admin, token, service.operators_pages(&stack, tls.as_ref()));
        }
        service.begin();
        let (memory, oauth) = (service.lasting.memory.clone(), service.oauth.clone());
        let current = Arc::new(Mutex::new(Some(Current { service, loaded })));
        let reloader = Reloader { current, stack, admin, tls };
        Ok(Self { reloader, memory, settings: settings.clone(), oauth, joined })
    }

    /// Returns the memory budget for clients and v1.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the authorization server as it was when the gateway started.
    pub fn oauth(&self) -> &OAuth {
        &self.oauth
    }

    /// Returns the address of the operators' listener, if there is one.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.reloader.admin.as_deref().map(Admin::address)
    }

    /// Returns the address of v1.
    pub fn upstream(&self) -> &str {
        self.settings.upstream.base_url.as_ref().map_or("", |address| address.as_str())
    }

    /// Sends v1 a request that needs no key; returns the status of the answer, or why there is none.
    pub fn ask_v1(&self) -> impl Future<Output = Result<u16, String>> + Send + 'static {
        let client = self.reloader.current.lock().as_ref().map(|current| current.service.lasting.client.clone());
        async move {
            let client = client.ok_or("the gateway has ended")?;
            let (nobody, ctx) = (V1Key::new("causeway-start"), Context::new("start", ASKING));
            let answer = client.call(&nobody, V1Request::get(paths::IDENTITY, ""), &ctx).await;
            answer.map(|answer| answer.status).map_err(|fault| fault.to_string())
        }
    }

    /// Returns the handle that reloads the gateway while it serves.
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// Serves until `shutdown` resolves, or until a newer version has taken over the store. Then it waits until running
    /// requests have drained.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let superseded = self.joined.superseded();
        let told = Arc::new(OnceLock::new());
        let telling = Arc::clone(&told);
        let shutdown = async move {
            tokio::select! { () = shutdown => {}, () = superseded => {} }
            let _ = telling.set(Instant::now());
        };
        let Reloader { current, stack, admin, tls } = self.reloader;
        let watched = tls.clone().map(|tls| until_dropped(tls.watch()));
        let outcome = serve(listener, stack, &self.settings, self.memory, tls, shutdown).await;
        drop(watched);
        let current = current.lock().take();
        drop(admin);
        if let Some(current) = current {
            let told = told.get().copied().unwrap_or_else(Instant::now);
            current.service.close(self.joined, told + self.settings.listen.drain_time).await;
        }
        outcome.map(drop)
    }
}
