//! The names by which tools of MCP servers are spoken of, beside the ones they are declared under.

/// A tool of an MCP server, by the names that the settings and the server give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolOfServer<'a> {
    /// The server's name in the settings.
    pub server: &'a str,
    /// The tool's name, as the server says it.
    pub tool: &'a str,
}

impl<'a> ToolOfServer<'a> {
    /// The tool of this server that others call `mcp_server_tool`; none for a name that is not of that form.
    pub fn of_alias(server: &'a str, alias: &'a str) -> Option<Self> {
        let tool = alias.strip_prefix("mcp_")?.strip_prefix(server)?.strip_prefix('_')?;
        Some(Self { server, tool })
    }

    /// The name that others, such as Gemini CLI, have for it: `mcp_server_tool`.
    pub fn alias(self) -> String {
        format!("mcp_{}_{}", self.server, self.tool)
    }

    /// Every name that it has anywhere, the one it is declared under among them.
    pub fn names(self, declared: &str) -> [String; 3] {
        [declared.to_owned(), self.alias(), format!("{}__{}", self.server, self.tool)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_its_tool_and_back() {
        let tool = ToolOfServer { server: "git_hub", tool: "list_all" };
        assert_eq!(tool.alias(), "mcp_git_hub_list_all");
        assert_eq!(ToolOfServer::of_alias("git_hub", &tool.alias()), Some(tool));
        assert_eq!(tool.names("x"), ["x", "mcp_git_hub_list_all", "git_hub__list_all"]);
        for other in ["mcp_git_hub", "mcp_gitlab_x", "git_hub__list_all", "list_all", ""] {
            assert_eq!(ToolOfServer::of_alias("git_hub", other), None, "{other}");
        }
    }
}
