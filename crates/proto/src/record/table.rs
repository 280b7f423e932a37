//! The table of facts: a kind is one line, everything that depends on it is made from that line.

/// Declares [`Fact`](super::Fact) with, for each kind, its name in JSON, its variant and the body's type.
macro_rules! facts {
    ($($(#[$doc:meta])* $kind:literal => $variant:ident($body:ty),)*) => {
        /// Something that happened and stays true.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Fact {
            $($(#[$doc])* $variant($body),)*
            /// A kind this version does not know: kept as it is.
            Unknown {
                /// The kind, as it is written.
                kind: String,
                /// All other fields, kept as they came.
                fields: Map<String, Value>,
            },
        }

        impl Fact {
            /// The names of all kinds, in the table's order.
            #[cfg(test)]
            const KINDS: &[&str] = &[$($kind),*];

            /// The kind's name in JSON.
            pub fn kind(&self) -> &str {
                match self {
                    $(Fact::$variant(_) => $kind,)*
                    Fact::Unknown { kind, .. } => kind,
                }
            }

            /// Reads the body of a record of this kind.
            fn read<'de, D: Deserializer<'de>>(kind: &str, body: D) -> Result<Self, D::Error> {
                match kind {
                    $($kind => Deserialize::deserialize(body).map(Fact::$variant),)*
                    _ => Ok(Fact::Unknown { kind: kind.to_owned(), fields: Map::deserialize(body)? }),
                }
            }

            /// Writes the body into the flat object that begins with `head`.
            fn write<S: Serializer>(&self, head: Head, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Fact::$variant(body) => Flat { head, body }.serialize(serializer),)*
                    Fact::Unknown { fields, .. } => Flat { head, body: fields }.serialize(serializer),
                }
            }
        }
    };
}

pub(super) use facts;
