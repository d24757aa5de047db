//! Conversions both ways between types of the model and wire types of the same shape.

/// Between two structs. Fields convert with `into`; after `each`, the elements of a list do, after `maybe` that of an
/// option.
macro_rules! same_fields {
    ($model:path, $wire:ident: $($field:ident),* $(; each $($each:ident),+)? $(; maybe $($maybe:ident),+)?) => {
        same_fields!(@from $model, $wire: $($field),*; $($($each),+)?; $($($maybe),+)?);
        same_fields!(@from $wire, $model: $($field),*; $($($each),+)?; $($($maybe),+)?);
    };
    (@from $from:path, $to:path: $($field:ident),*; $($each:ident),*; $($maybe:ident),*) => {
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                Self {
                    $($field: value.$field.into(),)*
                    $($each: value.$each.into_iter().map(Into::into).collect(),)*
                    $($maybe: value.$maybe.map(Into::into),)*
                }
            }
        }
    };
}

/// Between two enums, of variants that are empty or hold one value.
macro_rules! same_variants {
    ($model:path, $wire:ident: $($variant:ident $(($value:ident))?),+) => {
        same_variants!(@from $model, $wire: $($variant $(($value))?),+);
        same_variants!(@from $wire, $model: $($variant $(($value))?),+);
    };
    (@from $from:path, $to:path: $($variant:ident $(($value:ident))?),+) => {
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                type From = $from;
                match value { $(From::$variant $(($value))? => Self::$variant $(($value))?),+ }
            }
        }
    };
}
