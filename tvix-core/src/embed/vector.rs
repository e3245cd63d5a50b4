//! What every vector from outside of this crate must pass.

use super::Vector;

/// `values` scaled to length 1, or what is wrong with them.
pub(super) fn unit(mut values: Vec<f32>) -> Result<Vector, &'static str> {
    if values.iter().any(|value| !value.is_finite()) {
        return Err("a vector holds a number that is not finite");
    }
    // In f64, since the square of a great f32 is infinite.
    let length = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err("a vector is zero in every place");
    }
    for value in &mut values {
        *value = (f64::from(*value) / length) as f32;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_one_or_are_refused() {
        assert_eq!(unit(vec![3.0, -4.0]), Ok(vec![0.6, -0.8]));
        assert_eq!(unit(vec![1e38, 0.0]), Ok(vec![1.0, 0.0]));
        for wrong in [vec![0.0, 0.0], vec![], vec![f32::NAN], vec![f32::INFINITY, 1.0]] {
            assert!(unit(wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
