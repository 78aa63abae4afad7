//! The fields of a struct or of a variant.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Fields, Type};

/// The number of parts of the longest tuple that is a codec.
const TUPLE_PARTS: usize = 8;

/// The use of a codec.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Key,
    Value,
}

/// The fields of a struct or of a variant, with one variable each.
pub(crate) struct CodecFields<'i> {
    fields: &'i Fields,
    types: Vec<&'i Type>,
    variables: Vec<Ident>,
}

impl<'i> CodecFields<'i> {
    pub(crate) fn new(fields: &'i Fields) -> Self {
        Self {
            fields,
            types: fields.iter().map(|field| &field.ty).collect(),
            variables: (0..fields.len())
                .map(|index| format_ident!("field_{index}"))
                .collect(),
        }
    }

    /// The pattern or the expression that has all variables as fields.
    pub(crate) fn braces(&self) -> TokenStream {
        let variables = &self.variables;
        let names = self.fields.iter().map(|field| &field.ident);
        match self.fields {
            Fields::Named(_) => quote!({ #(#names: #variables),* }),
            Fields::Unnamed(_) => quote!((#(#variables),*)),
            Fields::Unit => TokenStream::new(),
        }
    }

    /// The type of the tuple of all fields. Its end is a tuple if it has many: the last part is
    /// stored unchanged, so the encoding is that of one long tuple.
    pub(crate) fn tuple_type(&self) -> TokenStream {
        nested(&self.types)
    }

    /// The statements that append the encodings of all variables to `bytes`.
    pub(crate) fn encode(&self, purpose: Purpose) -> TokenStream {
        let statements = self.parts(purpose).map(|(codec, value, is_last)| {
            quote!(::teak::codec::derived::push_field::<#codec>(&#value, #is_last, &mut bytes)?;)
        });
        statements.collect()
    }

    /// The statements that decode all variables from `bytes`.
    pub(crate) fn decode(&self, purpose: Purpose) -> TokenStream {
        let statements = self.parts(purpose).map(|(codec, value, is_last)| {
            let take = quote!(::teak::codec::derived::take_field::<#codec>(#is_last, &mut bytes)?);
            quote!(let #value = #take;)
        });
        statements.collect()
    }

    /// The parts of the encoding: their codecs, their variables, and whether a part is the last
    /// one. A key has one, the tuple of all fields.
    fn parts(&self, purpose: Purpose) -> impl Iterator<Item = (TokenStream, TokenStream, bool)> {
        let parts = match purpose {
            Purpose::Value if !self.types.is_empty() => {
                let parts = self.types.iter().zip(&self.variables);
                parts
                    .map(|(codec, value)| (quote!(#codec), quote!(#value)))
                    .collect()
            }
            _ => vec![(self.tuple_type(), nested(&self.variables))],
        };
        let last = parts.len() - 1;
        let parts = parts.into_iter().enumerate();
        parts.map(move |(index, (codec, value))| (codec, value, index == last))
    }
}

/// A tuple of parts, with tuples within it if there are many. One part is no tuple.
fn nested<T: ToTokens>(parts: &[T]) -> TokenStream {
    match parts {
        [part] => quote!(#part),
        _ if parts.len() <= TUPLE_PARTS => quote!((#(#parts),*)),
        _ => {
            let (parts, rest) = parts.split_at(TUPLE_PARTS - 1);
            let rest = nested(rest);
            quote!((#(#parts,)* #rest))
        }
    }
}
