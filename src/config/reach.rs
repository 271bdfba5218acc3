//! How the next command comes to the cluster that these settings lead to.

use super::{Connection, Layer, Origin, Secret, VARIABLES};
use crate::domain::Reach;

/// What was typed of where the cluster is, and what etcdctl has to be told of it. `layers` are the
/// strongest first.
pub(super) fn reach(layers: &[(Origin, Layer)], connection: &Connection) -> Reach {
    let variables = connection.etcdctl_variables().into_iter().filter(|(variable, _)| {
        let setting = VARIABLES.iter().find(|(_, known)| known == variable).map_or("", |(setting, _)| *setting);
        // The next command in this shell has the variable as it is.
        strongest(layers, setting) != Some(&Origin::Environment)
    });
    Reach { flags: typed(layers), variables: variables.collect() }
}

/// The source that leads to other endpoints than the chosen context's, as a person would look for
/// it; none where the context has its way, or has no endpoints.
pub(super) fn endpoints_from(layers: &[(Origin, Layer)]) -> Option<String> {
    let of_context = layers.iter().find(|(origin, _)| matches!(origin, Origin::Context(_)))?.1.endpoints.as_ref()?;
    let (origin, layer) = layers.iter().find(|(_, layer)| layer.endpoints.is_some())?;
    (layer.endpoints.as_ref() != Some(of_context)).then(|| origin.words_for("endpoints"))
}

fn strongest<'a>(layers: &'a [(Origin, Layer)], setting: &str) -> Option<&'a Origin> {
    let says = |layer: &Layer| layer.said().iter().any(|(name, value)| *name == setting && value.is_some());
    layers.iter().find(|(_, layer)| says(layer)).map(|(origin, _)| origin)
}

/// The flags that were typed, as they may be typed again: a user without a password.
fn typed(layers: &[(Origin, Layer)]) -> Vec<(&'static str, String)> {
    let Some((_, flags)) = layers.iter().find(|(origin, _)| *origin == Origin::Flags) else { return Vec::new() };
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let switch = |on: Option<bool>| on.map(|on| on.to_string());
    let endpoints = flags.endpoints.as_ref();
    let endpoints = endpoints.map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
    // With a password of its own the user is a name and nothing else.
    let is_name = flags.password.as_ref().is_some_and(|Secret(password)| !password.is_empty());
    let user = flags.user.as_ref().map(|Secret(user)| match user.split_once(':') {
        Some((name, _)) if !is_name => name.to_owned(),
        _ => user.clone(),
    });
    let all = [
        ("context", flags.context.clone()),
        ("endpoints", endpoints),
        ("cacert", path(&flags.cacert)),
        ("cert", path(&flags.cert)),
        ("key", path(&flags.key)),
        ("user", user),
        ("insecure-skip-tls-verify", switch(flags.insecure_skip_tls_verify)),
        ("insecure-transport", switch(flags.insecure_transport)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{File, merge};

    fn file(text: &str) -> Layer {
        File::from_toml(text, Path::new("c.toml")).unwrap().layer
    }

    fn layers(flags: &str, variables: &[(&str, &str)], context: &str) -> Vec<(Origin, Layer)> {
        let environment =
            Layer::from_environment(|name| variables.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into()));
        vec![
            (Origin::Flags, file(flags)),
            (Origin::Environment, environment.unwrap()),
            (Origin::Context("prod".into()), file(context)),
        ]
    }

    fn reached(layers: &[(Origin, Layer)]) -> Reach {
        merge(layers, |_| Ok("hunter2".into())).unwrap().reach
    }

    #[test]
    fn what_was_typed_is_typed_again_but_no_password() {
        let typed = "endpoints = ['a:1', 'https://b:1']\ncacert = 'ca.pem'\nuser = 'ann:hunter2'\n\
                     insecure-transport = false";
        let Reach { flags, variables } = reached(&layers(typed, &[], ""));
        let is = |name, value: &str| (name, value.to_owned());
        let expected = [
            is("endpoints", "a:1,https://b:1"),
            is("cacert", "ca.pem"),
            is("user", "ann"),
            is("insecure-transport", "false"),
        ];
        assert_eq!(flags, expected);
        let expected = [
            is("ETCDCTL_ENDPOINTS", "https://a:1,https://b:1"),
            is("ETCDCTL_CACERT", "ca.pem"),
            is("ETCDCTL_USER", "ann"),
        ];
        assert_eq!(variables, expected);
        let with_colon = reached(&layers("user = 'a:b'\npassword = 'hunter2'", &[], ""));
        assert_eq!(with_colon.flags, [is("user", "a:b")]);
    }

    #[test]
    fn what_the_next_command_has_anyway_is_not_typed() {
        let of_environment = reached(&layers("", &[("ETCDCTL_ENDPOINTS", "a:1"), ("ETCDCTL_USER", "ann")], ""));
        assert_eq!(of_environment, Reach::default());
        let of_file = reached(&layers("", &[], "endpoints = ['a:1']"));
        assert_eq!(of_file.flags, []);
        assert_eq!(of_file.variables, [("ETCDCTL_ENDPOINTS", "http://a:1".to_owned())], "etcdctl reads no file");
        let by_name = reached(&layers("context = 'prod'", &[("ETCDCTL_ENDPOINTS", "b:1")], "endpoints = ['a:1']"));
        assert_eq!(by_name.flags, [("context", "prod".to_owned())]);
    }

    #[test]
    fn endpoints_that_are_not_the_contexts_are_told_with_their_source() {
        let from = |flags: &str, variables: &[(&str, &str)], context: &str| {
            merge(&layers(flags, variables, context), |_| Ok(String::new())).unwrap().endpoints_from
        };
        let (left_over, context) = ([("ETCDCTL_ENDPOINTS", "a:1")], "endpoints = ['b:1']");
        assert_eq!(from("", &left_over, context).as_deref(), Some("ETCDCTL_ENDPOINTS"));
        assert_eq!(from("endpoints = ['a:1']", &[], context).as_deref(), Some("--endpoints"));
        assert_eq!(from("", &[], context), None);
        assert_eq!(from("", &left_over, "endpoints = ['a:1']"), None, "they are the same");
        assert_eq!(from("", &left_over, "read-only = true"), None, "it says nothing of endpoints");
    }
}
