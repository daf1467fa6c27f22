//! The options that defaults name. A name can belong to several options, and the first of them is meant. So a change
//! of the options could move a default from one to another; here each default stays with its option. May use: this
//! folder.

use super::choices::{Choices, plain};
use super::edit::Edit;
use super::model::{Catalogue, Property, PropertyType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// The option that each default text of a property names before a change of the options.
pub(super) struct Meant {
    /// By the context that has the text (`None`: the property itself), and the text.
    options: HashMap<(Option<Uuid>, String), Named>,
    /// The names of all options.
    names: HashMap<Uuid, String>,
    /// Holders whose texts were sent with the change.
    sent: HashSet<Option<Uuid>>,
}

#[derive(Clone, Copy)]
struct Named {
    option: Uuid,
    /// Whether the holder of the text offers the option. If not, the text names an option of the property that only
    /// other contexts offer.
    is_offered: bool,
}

impl Edit {
    /// Returns the options that the defaults of the property and its contexts name now.
    pub(super) fn meant_by_defaults(&self, property: Uuid) -> Meant {
        let after = &self.after;
        let all = after.choices_of(property);
        let names = after.options_of(property).into_iter().map(|option| (option.id, plain(&option.name))).collect();
        let mut options = HashMap::new();
        let mut note = |holder: Option<Uuid>, texts: &[String], here: &Choices| {
            for text in texts {
                let offered = here.first(text);
                if let Some(option) = offered.or_else(|| all.first(text)) {
                    options.insert((holder, text.clone()), Named { option, is_offered: offered.is_some() });
                }
            }
        };
        if let Some(owner) = after.properties.get(&property) {
            note(None, &owner.default_value, &all);
        }
        for context in after.contexts_of(property).into_iter().filter(|found| !found.default_value.is_empty()) {
            note(Some(context.id), &context.default_value, &after.choices_in(context));
        }
        Meant { options, names, sent: HashSet::new() }
    }

    /// Notes that the default of the property was sent together with the change, also for the seeded context when it
    /// has the same default. A different one follows later.
    pub(super) fn note_sent_default(&self, owner: &Property, meant: &mut Meant) {
        let contexts = self.after.contexts_of(owner.id).into_iter();
        let following = contexts.filter(|found| found.is_default && found.default_value == owner.default_value);
        meant.sent.extend(following.map(|context| Some(context.id)).chain([None]));
    }

    /// Rewrites the defaults of the property and its contexts after a change of the options: see [`Meant::kept`].
    pub(super) fn keep_meant(&mut self, property: Uuid, meant: &Meant) {
        let after = &self.after;
        let Some(owner) = after.properties.get(&property) else { return };
        if owner.property_type != PropertyType::Option || meant.options.is_empty() {
            return;
        }
        let all = after.choices_of(property);
        let own = meant.kept(after, None, &owner.default_value, &all, &all);
        let contexts = after.contexts_of(property).into_iter().filter(|found| !found.default_value.is_empty());
        let of_contexts: Vec<(Uuid, Vec<String>)> = contexts
            .map(|context| {
                let here = after.choices_in(context);
                (context.id, meant.kept(after, Some(context.id), &context.default_value, &here, &all))
            })
            .collect();
        if let Some(owner) = self.after.properties.get_mut(&property).filter(|owner| owner.default_value != own) {
            Arc::make_mut(owner).default_value = own;
        }
        for (id, texts) in of_contexts {
            let context = self.after.contexts.get_mut(&id).filter(|context| context.default_value != texts);
            if let Some(context) = context {
                Arc::make_mut(context).default_value = texts;
            }
        }
    }
}

impl Meant {
    /// Takes out the texts of a context, which stay as they are.
    pub(super) fn forget(&mut self, context: Uuid) {
        self.options.retain(|(holder, _), _| *holder != Some(context));
    }

    /// Returns the default texts of a holder, which offers the choices `here` now, so that each still names its option:
    /// as it is, else by the option's new name, else by its id. A text is left out when its option is gone, also when
    /// another option had the same name. A text that was sent stays when it names any option.
    pub(super) fn kept(
        &self,
        after: &Catalogue,
        holder: Option<Uuid>,
        texts: &[String],
        here: &Choices,
        all: &Choices,
    ) -> Vec<String> {
        let keep = |text: &String| {
            let Some(meant) = self.options.get(&(holder, text.clone())) else { return Some(text.clone()) };
            let choices = if meant.is_offered { here } else { all };
            let now = choices.first(text);
            if now == Some(meant.option) || (now.is_some() && self.sent.contains(&holder)) {
                return Some(text.clone());
            }
            match after.options.get(&meant.option).filter(|option| choices.has(option.id)) {
                Some(option) if choices.first(&option.name) == Some(option.id) => Some(option.name.clone()),
                Some(option) => Some(option.id.to_string()),
                // An option that got this name in the same change takes the place of the one that is gone.
                None => now.filter(|now| self.names.get(now) != Some(&plain(text))).map(|_| text.clone()),
            }
        };
        texts.iter().filter_map(keep).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue::{Catalogue, Edit};
    use serde_json::{Map, Value, json};
    use std::collections::HashSet;
    use uuid::Uuid;

    fn given(body: &Value) -> Map<String, Value> {
        body.as_object().cloned().unwrap()
    }

    /// An option property with its options, in their order.
    struct Scene {
        edit: Edit,
        property: Uuid,
        options: Vec<Uuid>,
    }

    impl Scene {
        /// Adds the options one by one, since the names of one body must differ.
        fn of(owner: Option<Uuid>, names: &[&str], default: Value) -> Self {
            let mut edit = Edit::begin(&Catalogue::empty(Uuid::from_u128(9), 0), 0);
            let body = json!({"display_name": "p", "property_type": "OPTION", "is_multi": true});
            let property = edit.create_property(owner, &given(&body)).unwrap();
            let add = |name: &&str| edit.create_option(property, &given(&json!({ "name": name }))).unwrap();
            let options = names.iter().map(add).collect();
            let mut scene = Self { edit, property, options };
            scene.change(json!({ "default_value": default }));
            scene
        }

        fn change(&mut self, body: Value) {
            self.edit.update_property(self.property, &given(&body)).unwrap();
        }

        fn rename(&mut self, option: usize, name: &str) {
            self.edit.update_option(self.options[option], &given(&json!({ "name": name }))).unwrap();
        }

        /// Changes the seeded context and returns its default.
        fn change_context(&mut self, body: Value) -> Value {
            let context = self.edit.after.contexts_of(self.property)[0].id;
            self.edit.update_context(context, &given(&body), &HashSet::new()).unwrap();
            json!(self.edit.after.contexts[&context].default_value)
        }

        /// Returns the default of the property, which is that of the seeded context too.
        fn default(&self) -> Value {
            let own = &self.edit.after.properties[&self.property].default_value;
            for context in self.edit.after.contexts_of(self.property) {
                assert_eq!(&context.default_value, own);
            }
            json!(own)
        }
    }

    const OWNERS: [Option<Uuid>; 2] = [None, Some(Uuid::from_u128(1))];

    #[test]
    fn a_default_takes_the_new_name_of_its_option_only() {
        for owner in OWNERS {
            let mut scene = Scene::of(owner, &["D", "d"], json!([" D"]));
            scene.rename(1, "E");
            assert_eq!(scene.default(), json!([" D"]));
            scene.rename(0, "F");
            assert_eq!(scene.default(), json!(["F"]));
            let mut scene = Scene::of(owner, &["A", "B"], json!(["A", "B"]));
            let [a, b] = [scene.options[0], scene.options[1]];
            scene.change(json!({"options": [{"id": a, "name": "B"}, {"id": b, "name": "A"}]}));
            assert_eq!(scene.default(), json!(["B", "A"]));
        }
    }

    #[test]
    fn a_default_names_the_option_with_exactly_this_name_before_one_in_other_letters() {
        for owner in OWNERS {
            let scene = Scene::of(owner, &["D", "d", "e"], json!(["d", "E"]));
            let choices = scene.edit.after.choices_of(scene.property);
            let named = ["d", " D", "E"].map(|text| choices.first(text));
            assert_eq!(named, [scene.options[1], scene.options[0], scene.options[2]].map(Some));
            for context in scene.edit.after.contexts_of(scene.property) {
                assert_eq!(scene.edit.after.choices_in(context).first("d"), Some(scene.options[1]));
            }
        }
    }

    #[test]
    fn a_default_goes_with_its_option_and_does_not_pass_to_another_of_the_same_name() {
        for owner in OWNERS {
            let mut scene = Scene::of(owner, &["D", "D", "D"], json!(["D"]));
            scene.edit.delete_option(scene.options[1]).unwrap();
            assert_eq!(scene.default(), json!(["D"]));
            scene.edit.delete_option(scene.options[0]).unwrap();
            assert_eq!(scene.default(), json!([]));
            let mut scene = Scene::of(owner, &["D", "D"], json!(["D"]));
            scene.change(json!({"options": [{"id": scene.options[1]}]}));
            assert_eq!(scene.default(), json!([]));
            // A default that is sent with the options is about those that are left.
            let mut scene = Scene::of(owner, &["D", "D"], json!(["D"]));
            scene.change(json!({"options": [{"id": scene.options[1]}], "default_value": ["D"]}));
            assert_eq!(scene.default(), json!(["D"]));
        }
    }

    #[test]
    fn another_option_that_gets_the_name_does_not_get_the_default() {
        for owner in OWNERS {
            let mut scene = Scene::of(owner, &["E", "D"], json!(["D"]));
            scene.rename(0, "D");
            let id = json!([scene.options[1]]);
            assert_eq!(scene.default(), id);
            scene.rename(0, "E");
            assert_eq!(scene.default(), id, "an id stays an id");
            let mut scene = Scene::of(owner, &["E", "D"], json!(["D"]));
            scene.rename(1, "E");
            assert_eq!(scene.default(), json!([scene.options[1]]));
        }
    }

    #[test]
    fn a_new_option_takes_no_default_over() {
        for owner in OWNERS {
            let mut scene = Scene::of(owner, &["High"], json!(["high"]));
            scene.edit.create_option(scene.property, &given(&json!({"name": "high"}))).unwrap();
            assert_eq!(scene.default(), json!(["High"]));
        }
    }

    #[test]
    fn a_kept_default_is_judged_as_it_is_kept_and_a_sent_one_as_it_was_sent() {
        for owner in OWNERS {
            let mut scene = Scene::of(owner, &["High", "Low"], json!(["High"]));
            let top = json!({"id": scene.options[0], "name": "Top"});
            scene.change(json!({"is_multi": false, "options": [top]}));
            assert_eq!(scene.default(), json!(["Top"]));
            let sent = given(&json!({"options": [{"name": "New"}], "default_value": ["Top"]}));
            assert!(scene.edit.update_property(scene.property, &sent).is_err());
        }
    }

    #[test]
    fn the_options_of_a_context_leave_the_default_with_its_option() {
        let scene = || Scene::of(None, &["D", "D", "E"], json!(["D"]));
        let (mut one, ids) = (scene(), |scene: &Scene| [0, 1, 2].map(|at| json!({"id": scene.options[at]})));
        let [first, second, third] = ids(&one);
        // The id of the default, because the other one comes first now.
        assert_eq!(one.change_context(json!({"options": [second, first, third]})), json!([first["id"]]));
        let mut one = scene();
        let [_, second, third] = ids(&one);
        assert_eq!(one.change_context(json!({"options": [second, third]})), json!([]));
        let mut one = scene();
        let [_, second, _] = ids(&one);
        assert_eq!(one.change_context(json!({"options": [second], "default_value": ["D"]})), json!(["D"]));
        // The only option of this name is replaced by a new one of the same name.
        let mut one = Scene::of(None, &["D", "E"], json!(["D"]));
        assert_eq!(one.change_context(json!({"options": [{"name": "d"}]})), json!(["D"]));
        assert_eq!(one.default(), json!(["D"]));
    }
}
