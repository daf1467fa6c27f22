//! The current user. Uses the store and the person shape.

use super::call::Call;
use super::fields::person;
use super::http::{Answer, Reply};
use super::store::World;

/// `GET users/me/`: no parameter has any effect (`users_me_fields_param_ignored`).
pub(super) fn me(call: &Call<'_>, world: &World) -> Answer {
    let user = world.users.get(call.user).ok_or_else(Reply::not_found)?;
    Ok(Reply::ok(person(user)))
}
