//! Numbers, character by character.

/// How far a number is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberPlace {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    /// After a number, in characters that do not belong to it.
    Skip,
}

impl NumberPlace {
    /// Where a character leads; `None` if it does not belong to the number.
    pub(super) fn next(self, character: char) -> Option<NumberPlace> {
        use NumberPlace::{
            Exponent, ExponentDigits, ExponentSign, Fraction, Integer, Minus, Point, Zero,
        };
        Some(match (self, character) {
            (Minus, '0') => Zero,
            (Minus, '1'..='9') | (Integer, '0'..='9') => Integer,
            (Zero | Integer, '.') => Point,
            (Zero | Integer | Fraction, 'e' | 'E') => Exponent,
            (Point | Fraction, '0'..='9') => Fraction,
            (Exponent, '+' | '-') => ExponentSign,
            (Exponent | ExponentSign | ExponentDigits, '0'..='9') => ExponentDigits,
            _ => return None,
        })
    }

    /// Whether the number may end here.
    pub(super) fn is_complete(self) -> bool {
        match self {
            NumberPlace::Minus
            | NumberPlace::Point
            | NumberPlace::Exponent
            | NumberPlace::ExponentSign => false,
            NumberPlace::Zero
            | NumberPlace::Integer
            | NumberPlace::Fraction
            | NumberPlace::ExponentDigits
            | NumberPlace::Skip => true,
        }
    }

    /// Appends a digit that is missing.
    pub(super) fn complete(self, out: &mut String) {
        if !self.is_complete() {
            out.push('0');
        }
    }
}
