//! Refuses requests beyond the number that the gateway serves at once, instead of queueing them. May use: `load`,
//! `refusal`, this folder.

use crate::edge::body::Body;
use crate::edge::client_address::ClientAddress;
use crate::edge::intake::{Holding, Patience, ReadingMode, taken_in};
use crate::edge::outgoing::Load;
use crate::edge::pools::{Kind, Pools};
use crate::load::Asker;
use crate::refusal::Refusal;
use http::{Request, Response};
use http_body::Body as _;
use std::sync::Arc;

/// Most bytes of buffers that a pass-through request takes, both directions together: bytes that were read and not
/// yet written.
const PASSING: usize = 128 * 1024;

/// The place of one request in `pools`.
pub(in crate::edge) struct Permit {
    holding: Arc<Holding>,
    asker: Asker,
    kind: Kind,
    changes_nothing: bool,
}

impl Permit {
    /// Takes a place for the request; returns both.
    pub(in crate::edge) fn take(
        request: Request<Body>,
        pools: &Pools,
        kind: Kind,
        patience: Patience,
    ) -> Result<(Request<Body>, Self), Refusal> {
        let address = request.extensions().get::<ClientAddress>().map(|client| client.0);
        let asker = pools.asker(address, request.headers());
        if !pools.answers.has_room_for(asker) {
            return Err(Refusal::Overloaded);
        }
        let (holding, manner) = match kind {
            Kind::PassThrough => {
                let has_body = !request.body().is_end_stream();
                let stages = pools.of(Kind::PassThrough);
                (Holding::passing(stages, asker, has_body, &pools.memory, PASSING)?, ReadingMode::Streamed)
            }
            Kind::V2 | Kind::OAuth | Kind::Pages | Kind::Hints => {
                (Holding::served(pools.of(kind), asker, &pools.memory)?, ReadingMode::Collected)
            }
        };
        let permit =
            Self { holding: Arc::clone(&holding), asker, kind, changes_nothing: request.method().is_safe() };
        let mut request = request.map(|body| taken_in(body, Arc::clone(&holding), manner, patience));
        if matches!(kind, Kind::PassThrough | Kind::V2) {
            // For a write that goes on at v1, or at the deployment's own v2, when its client leaves.
            request.extensions_mut().insert(holding);
        }
        Ok((request, permit))
    }

    /// Takes the place and the memory that the answer needs until it is sent. A pass-through answer also keeps the
    /// place of its request to its last byte, because it holds a connection to v1 for that long. Other requests give
    /// their place back now. An answer without memory is refused, unless its request may have changed something.
    pub(in crate::edge) fn answered(
        self,
        mut response: Response<Body>,
        pools: &Pools,
    ) -> Result<Response<Body>, Refusal> {
        let mut memory = pools.memory.reservation(self.asker);
        let mut holding = Some(self.holding);
        if self.kind != Kind::PassThrough {
            let size = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
            if self.changes_nothing {
                memory.grow(size)?;
            } else {
                memory.grow_anyway(size);
            }
            holding = None;
        }
        response.extensions_mut().insert(Load::new(pools.answers.enter_anyway(self.asker), memory, holding));
        Ok(response)
    }
}
