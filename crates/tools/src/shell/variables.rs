//! Variables whose names say that they hold a secret.

/// Why text with such a variable in it is unclear.
pub(super) const SECRET_VARIABLE: &str = "it uses a variable that may hold a secret";

/// True for text that names a variable which by its name may hold a secret.
pub(super) fn names_secret(text: &str) -> bool {
    const TELLING: [&str; 8] = ["TOKEN", "SECRET", "PASSW", "KEY", "CREDENTIAL", "PRIVATE", "AUTH", "COOKIE"];
    text.split('$').skip(1).any(|rest| {
        let name = rest.trim_start_matches(['{', '#']);
        let name: String = name.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        TELLING.iter().any(|telling| name.to_uppercase().contains(telling))
    })
}
