//! The current user. May use: `door`, `forms`, `records`.

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::fields::person;
use crate::records::store::World;

/// `GET users/me/`: no parameter has any effect (`users_me_fields_param_ignored`).
pub(crate) fn me(call: &Call<'_>, world: &World) -> Answer {
    let user = world.users.get(call.user).ok_or_else(Reply::not_found)?;
    Ok(Reply::ok(person(user)))
}
