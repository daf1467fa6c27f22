//! Tests of the surface with real connections.
