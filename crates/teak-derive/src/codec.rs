//! The implementations of the traits of codecs.

use crate::fields::{CodecFields, Purpose};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, LitStr, Result, ext::IdentExt};

/// The greatest number of variants, whose numbers have one byte.
const VARIANTS_MAX: usize = 256;

/// The parts of the implementations that depend on the type.
struct Bodies {
    encode: TokenStream,
    decode: TokenStream,
    order: TokenStream,
    len: TokenStream,
}

pub(crate) fn derive(input: TokenStream, purpose: Purpose) -> TokenStream {
    let derived = syn::parse2(input).and_then(|input| implementations(&input, purpose));
    derived.unwrap_or_else(Error::into_compile_error)
}

fn implementations(input: &DeriveInput, purpose: Purpose) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        let text = "types with generic parameters cannot be derived; implement `Codec` by hand";
        return Err(Error::new_spanned(&input.generics, text));
    }
    let bodies = match &input.data {
        Data::Struct(data) => of_struct(&data.fields, purpose),
        Data::Enum(data) => of_enum(data, purpose)?,
        Data::Union(data) => {
            let text = "a union cannot be encoded; use a struct or an enum";
            return Err(Error::new_spanned(data.union_token, text));
        }
    };
    let (ident, name) = (&input.ident, name(input)?);
    let Bodies {
        encode,
        decode,
        order,
        len,
    } = bodies;
    let key_part = (purpose == Purpose::Key).then(|| {
        quote! {
            #[automatically_derived]
            impl ::teak::codec::KeyPart for #ident {
                type Part<'a> = Self;
                const LEN: ::std::option::Option<usize> = #len;

                fn decode_part(bytes: ::std::borrow::Cow<'_, [u8]>) -> ::teak::Result<Self> {
                    <Self as ::teak::codec::Codec>::decode(&bytes)
                }

                fn part_to_owned(part: Self) -> Self {
                    part
                }
            }
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl ::teak::codec::Codec for #ident {
            type Item<'a> = Self;
            type Owned = Self;
            const ORDER: ::teak::codec::CodecOrder = #order;

            fn name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(#name)
            }

            fn decode(bytes: &[u8]) -> ::teak::Result<Self> {
                let mut bytes = bytes;
                #decode
            }

            fn to_owned(item: Self) -> Self {
                item
            }
        }

        #[automatically_derived]
        impl ::teak::codec::EncodeAs<#ident> for #ident {
            fn encode_as(&self) -> ::teak::Result<impl ::std::convert::AsRef<[u8]>> {
                let mut bytes = ::std::vec::Vec::<u8>::new();
                #encode
                ::std::result::Result::Ok(bytes)
            }
        }

        #key_part
    })
}

/// The name of the codec: that of the attribute, or of the package and the type.
fn name(input: &DeriveInput) -> Result<TokenStream> {
    let mut name = None;
    for attribute in &input.attrs {
        if attribute.path().is_ident("teak") {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("name") {
                    return Err(meta.error("the only attribute is `name = \"…\"`"));
                }
                name = Some(meta.value()?.parse::<LitStr>()?);
                Ok(())
            })?;
        }
    }
    let default = format!(".{}", input.ident.unraw());
    Ok(match name {
        Some(name) if !name.value().contains('.') => {
            let text = "begin the name with that of the application and a dot: names without a dot are Teak's";
            return Err(Error::new(name.span(), text));
        }
        Some(name) => quote!(#name),
        None => quote!(::std::concat!(::std::env!("CARGO_PKG_NAME"), #default)),
    })
}

fn of_struct(fields: &Fields, purpose: Purpose) -> Bodies {
    let fields = CodecFields::new(fields);
    let (braces, tuple) = (fields.braces(), fields.tuple_type());
    let (encode, decode) = (fields.encode(purpose), fields.decode(purpose));
    Bodies {
        encode: quote! {
            let Self #braces = self;
            #encode
        },
        decode: quote! {
            #decode
            ::std::result::Result::Ok(Self #braces)
        },
        order: match purpose {
            Purpose::Key => quote!(<#tuple as ::teak::codec::Codec>::ORDER),
            Purpose::Value => quote!(::teak::codec::CodecOrder::Unordered),
        },
        len: quote!(<#tuple as ::teak::codec::KeyPart>::LEN),
    }
}

fn of_enum(data: &DataEnum, purpose: Purpose) -> Result<Bodies> {
    if data.variants.is_empty() {
        let text = "an enum without variants has no values to encode";
        return Err(Error::new(data.brace_token.span.join(), text));
    }
    if let Some(variant) = data.variants.iter().nth(VARIANTS_MAX) {
        let text = "an enum with more than 256 variants cannot be derived";
        return Err(Error::new_spanned(variant, text));
    }
    let (mut encode, mut decode, mut tuples) = (Vec::new(), Vec::new(), Vec::new());
    for (number, variant) in (0u8..=u8::MAX).zip(&data.variants) {
        if let (Purpose::Key, Some((_, discriminant))) = (purpose, &variant.discriminant) {
            let text = "variants of keys sort in the order of their declaration; leave the discriminants out";
            return Err(Error::new_spanned(discriminant, text));
        }
        let (ident, fields) = (&variant.ident, CodecFields::new(&variant.fields));
        let braces = fields.braces();
        let (encode_fields, decode_fields) = (fields.encode(purpose), fields.decode(purpose));
        encode.push(quote!(Self::#ident #braces => {
            bytes.push(#number);
            #encode_fields
        }));
        decode.push(quote!(::std::option::Option::Some(#number) => {
            #decode_fields
            ::std::result::Result::Ok(Self::#ident #braces)
        }));
        tuples.push(fields.tuple_type());
    }
    Ok(Bodies {
        encode: quote!(match self { #(#encode)* }),
        decode: quote! {
            match ::teak::codec::derived::take_variant(&mut bytes) {
                #(#decode)*
                other => ::std::result::Result::Err(
                    ::teak::codec::derived::no_variant::<Self>(other)
                ),
            }
        },
        order: match purpose {
            Purpose::Key => quote! {
                ::teak::codec::CodecOrder::Bytes
                    #(.then(<#tuples as ::teak::codec::Codec>::ORDER))*
            },
            Purpose::Value => quote!(::teak::codec::CodecOrder::Unordered),
        },
        len: quote! {
            ::teak::codec::derived::len_of_variants(&[
                #(<#tuples as ::teak::codec::KeyPart>::LEN),*
            ])
        },
    })
}
