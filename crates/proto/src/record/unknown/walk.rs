//! Walks over what would be serialised and takes only the keys: no text is made, however long the strings.

use std::fmt;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::Paths;

type Done = Result<(), fmt::Error>;

/// Values without keys.
macro_rules! plain {
    ($($method:ident($type:ty),)*) => {
        $(fn $method(self, _: $type) -> Done {
            Ok(())
        })*
    };
}

impl<'a> Serializer for &'a mut Paths {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = &'a mut Paths;
    type SerializeTuple = &'a mut Paths;
    type SerializeTupleStruct = &'a mut Paths;
    type SerializeTupleVariant = Object<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    plain! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_f32(f32),
        serialize_f64(f64), serialize_char(char), serialize_bytes(&[u8]), serialize_unit_struct(&'static str),
    }

    fn serialize_str(self, text: &str) -> Done {
        if std::mem::take(&mut self.at_key) {
            self.key(text.as_bytes());
        }
        Ok(())
    }

    fn serialize_none(self) -> Done {
        Ok(())
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        self.open();
        self.key(variant.as_bytes());
        value.serialize(&mut *self)?;
        self.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'a>, fmt::Error> {
        Ok(Object::of_variant(self, variant, false))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, fmt::Error> {
        self.open();
        Ok(Object { paths: self, depth: 1 })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a>, fmt::Error> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'a>, fmt::Error> {
        Ok(Object::of_variant(self, variant, true))
    }
}

/// Objects that are open until the end of what is walked over.
pub(super) struct Object<'a> {
    paths: &'a mut Paths,
    depth: u32,
}

impl<'a> Object<'a> {
    /// `{"variant": …`, and the object in it where it has fields.
    fn of_variant(paths: &'a mut Paths, variant: &str, fields: bool) -> Self {
        paths.open();
        paths.key(variant.as_bytes());
        if fields {
            paths.open();
        }
        Self { paths, depth: 1 + u32::from(fields) }
    }

    fn field<T: ?Sized + Serialize>(&mut self, key: &str, value: &T) -> Done {
        self.paths.key(key.as_bytes());
        value.serialize(&mut *self.paths)
    }

    fn close(self) -> Done {
        (0..self.depth).for_each(|_| self.paths.close());
        Ok(())
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident),*) => {
        $(impl $trait for &mut Paths {
            type Ok = ();
            type Error = fmt::Error;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Done {
                value.serialize(&mut **self)
            }

            fn end(self) -> Done {
                Ok(())
            }
        })*
    };
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field
);

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl $trait for Object<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn serialize_field<T: ?Sized + Serialize>(&mut self, key: &'static str, value: &T) -> Done {
                self.field(key, value)
            }

            fn end(self) -> Done {
                self.close()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl SerializeTupleVariant for Object<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.paths)
    }

    fn end(self) -> Done {
        self.close()
    }
}

impl SerializeMap for Object<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Done {
        self.paths.at_key = true;
        key.serialize(&mut *self.paths)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.paths)
    }

    fn end(self) -> Done {
        self.close()
    }
}
