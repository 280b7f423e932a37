//! JSON-RPC messages: what goes out, and what an incoming one is.

use serde_json::{Value, json};

/// The number under which a request of ours is answered.
pub(crate) type RequestId = u64;

/// The method is not known here.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// A message of a server, taken apart. What fits no form is not a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The answer to a request of ours.
    Answer {
        /// The request.
        id: RequestId,
        /// What came of it.
        result: Result<Value, RpcError>,
    },
    /// It wants something from us.
    Request {
        /// To be given back with the answer, as it is.
        id: Value,
        /// What it wants.
        method: String,
        /// What it says about it.
        params: Value,
    },
    /// It tells something.
    Notification {
        /// What about.
        method: String,
        /// What it says.
        params: Value,
    },
}

/// The error that a server answered with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", if *.code == 0 { String::new() } else { format!(" (error {code})") })]
pub struct RpcError {
    /// Its number.
    pub code: i64,
    /// In the server's words.
    pub message: String,
}

/// Takes a message apart; `None` for what is none.
pub(crate) fn read(mut message: Value) -> Option<Incoming> {
    let object = message.as_object_mut()?;
    let id = object.shift_remove("id").filter(|id| !id.is_null());
    if let Some(Value::String(method)) = object.shift_remove("method") {
        let params = object.shift_remove("params").unwrap_or_default();
        return Some(match id {
            Some(id) => Incoming::Request { id, method, params },
            None => Incoming::Notification { method, params },
        });
    }
    let id = id.and_then(|id| id.as_u64())?;
    if let Some(error) = object.shift_remove("error") {
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason is given");
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        return Some(Incoming::Answer { id, result: Err(RpcError { code, message: message.to_owned() }) });
    }
    Some(Incoming::Answer { id, result: Ok(object.shift_remove("result")?) })
}

/// A request of ours.
pub(crate) fn request(id: RequestId, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Something we tell.
pub(crate) fn notification(method: &str, params: &Value) -> Value {
    match params {
        Value::Null => json!({"jsonrpc": "2.0", "method": method}),
        params => json!({"jsonrpc": "2.0", "method": method, "params": params}),
    }
}

/// What we answer a server.
pub(crate) fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// What we answer a server whose request comes to nothing.
pub(crate) fn refused(id: &Value, error: &RpcError) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}})
}

/// What we answer a server that asks for what we do not do.
pub(crate) fn unknown_method(id: &Value, method: &str) -> Value {
    let message = format!("this client does not take `{method}`");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_its_fields_say_and_anything_else_is_none() {
        let answered = |result| Some(Incoming::Answer { id: 7, result });
        assert_eq!(read(json!({"id": 7, "result": {"a": 1}})), answered(Ok(json!({"a": 1}))));
        let error = RpcError { code: -1, message: "no".to_owned() };
        assert_eq!(read(json!({"id": 7, "error": {"code": -1, "message": "no"}})), answered(Err(error)));
        let asked = Incoming::Request { id: json!("x"), method: "ping".to_owned(), params: Value::Null };
        assert_eq!(read(json!({"id": "x", "method": "ping"})), Some(asked));
        let told = Incoming::Notification { method: "m".to_owned(), params: json!([1]) };
        assert_eq!(read(json!({"method": "m", "params": [1], "id": null})), Some(told));
        for nonsense in
            [json!(null), json!([]), json!({}), json!({"id": "7", "result": 1}), json!({"id": -1}), json!(7)]
        {
            assert_eq!(read(nonsense.clone()), None, "{nonsense}");
        }
    }
}
