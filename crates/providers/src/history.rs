//! Makes any conversation fit to be sent.
