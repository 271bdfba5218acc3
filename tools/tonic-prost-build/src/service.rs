//! Clients and servers of the services that prost-build finds.
//!
//! prost-build describes a service, tonic-build writes its code; here the one is put in the
//! other's terms. Which files were read, and where the code goes, is not known here.

use proc_macro2::TokenStream;
use tonic_build::CodeGenBuilder;

/// The codec that generated code names: it comes from `tonic-prost`, which etcd-client has.
const CODEC: &str = "tonic_prost::ProstCodec";

/// Where a package's messages are, seen from the modules `…_client` and `…_server` beside them.
const MESSAGES: &str = "super";

/// Writes the stubs of every service it is given.
pub(crate) struct Stubs {
    /// Whether to write clients.
    pub client: bool,
    /// Whether to write server traits.
    pub server: bool,
}

impl prost_build::ServiceGenerator for Stubs {
    fn generate(&mut self, service: prost_build::Service, buf: &mut String) {
        let service = Service::from(service);
        let code = CodeGenBuilder::new();
        if self.client {
            buf.push_str(&code.generate_client(&service, MESSAGES).to_string());
        }
        if self.server {
            buf.push_str(&code.generate_server(&service, MESSAGES).to_string());
        }
    }
}

/// A service as tonic-build wants to see it; it asks for the methods by reference.
struct Service {
    name: String,
    package: String,
    proto_name: String,
    comments: Vec<String>,
    methods: Vec<Method>,
}

impl From<prost_build::Service> for Service {
    fn from(service: prost_build::Service) -> Self {
        Self {
            name: service.name,
            package: service.package,
            proto_name: service.proto_name,
            comments: service.comments.leading,
            methods: service.methods.into_iter().map(Method).collect(),
        }
    }
}

impl tonic_build::Service for Service {
    type Comment = String;
    type Method = Method;

    fn name(&self) -> &str {
        &self.name
    }

    fn package(&self) -> &str {
        &self.package
    }

    fn identifier(&self) -> &str {
        &self.proto_name
    }

    fn methods(&self) -> &[Method] {
        &self.methods
    }

    fn comment(&self) -> &[String] {
        &self.comments
    }
}

/// A method as tonic-build wants to see it.
struct Method(prost_build::Method);

impl tonic_build::Method for Method {
    type Comment = String;

    fn name(&self) -> &str {
        &self.0.name
    }

    fn identifier(&self) -> &str {
        &self.0.proto_name
    }

    fn codec_path(&self) -> &str {
        CODEC
    }

    fn client_streaming(&self) -> bool {
        self.0.client_streaming
    }

    fn server_streaming(&self) -> bool {
        self.0.server_streaming
    }

    fn comment(&self) -> &[String] {
        &self.0.comments.leading
    }

    fn deprecated(&self) -> bool {
        self.0.options.deprecated()
    }

    fn request_response_name(&self, messages: &str, _well_known_too: bool) -> (TokenStream, TokenStream) {
        (type_seen_from(messages, &self.0.input_type), type_seen_from(messages, &self.0.output_type))
    }
}

/// The path of a message's type. prost-build gives it as seen from the package's own module,
/// save for the well-known types: those are absolute, or a primitive such as `()`.
fn type_seen_from(messages: &str, rust_type: &str) -> TokenStream {
    let absolute = ["::", "crate::"].iter().any(|root| rust_type.starts_with(root));
    let primitive = !rust_type.contains(|c: char| c.is_ascii_uppercase());
    let path = if absolute || primitive { rust_type.into() } else { format!("{messages}::{rust_type}") };
    path.parse().expect("prost-build names a type by a path or a primitive")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_package_and_of_its_neighbours_are_reached_through_the_parent_module() {
        assert_eq!(type_seen_from("super", "WatchRequest").to_string(), "super :: WatchRequest");
        assert_eq!(
            type_seen_from("super", "super::mvccpb::KeyValue").to_string(),
            "super :: super :: mvccpb :: KeyValue"
        );
    }

    #[test]
    fn well_known_types_are_named_as_they_are() {
        assert_eq!(type_seen_from("super", "()").to_string(), "()");
        assert_eq!(type_seen_from("super", "bool").to_string(), "bool");
        assert_eq!(type_seen_from("super", "::prost_types::Any").to_string(), ":: prost_types :: Any");
    }
}
