//! What Gemini CLI's public tests ask of a binary, group by group, and which test of ours asks the same.

use std::path::Path;

/// A group of assertions, and each of them with the tests that cover it.
type Group = (&'static str, &'static [(&'static str, &'static [&'static str])]);

const GROUPS: [Group; 11] = [
    (
        "starting",
        &[
            ("-p, words, piped text, --debug, --model", &["a_recording_answers_in_every_form_of_prompt"]),
            ("-i with piped text is refused", &["a_conversation_is_no_answer_to_what_is_piped"]),
            ("-y and --approval-mode", &["yolo_has_a_short_form_and_no_other_mode_beside_it"]),
            (
                "--acp, and a key that is missing",
                &["an_editor_starts_it_by_a_flag_and_is_told_of_a_missing_key"],
            ),
            ("-v, -s, -r", &["short_forms_that_people_type_elsewhere_are_known"]),
            ("no prompt at all", &["no_prompt_at_all_is_told_in_the_known_words"]),
            (
                "a home of its own, the same settings twice",
                &["the_same_document_in_both_files_doubles_nothing_and_unknown_keys_are_no_mistake"],
            ),
            ("keys of a .env file", &["a_key_in_a_file_of_the_users_own_is_used"]),
            (
                "at an editor: a key of the folder's .env, a refused key, the answer, a recording",
                &[
                    "an_editor_is_told_of_a_key_that_is_refused_and_of_the_answer_otherwise",
                    "an_editor_is_answered_from_a_recording",
                ],
            ),
            (
                "custom commands",
                &["a_command_is_filled_with_words_files_and_output", "the_rules_decide_what_a_command_runs"],
            ),
        ],
    ),
    (
        "recordings",
        &[
            ("each process begins with the first line", &["every_process_begins_with_the_first_line"]),
            (
                "strict and loose, mismatches and an end",
                &["a_recording_that_does_not_fit_is_a_failed_request"],
            ),
            ("odd chunks, malformed calls", &["chunks_of_every_kind_are_survived"]),
            ("signatures go back", &["a_signature_goes_back_with_its_call"]),
            ("recording", &["what_is_recorded_answers_again"]),
        ],
    ),
    (
        "hooks",
        &[
            (
                "order, once each, the input of every event",
                &["every_point_is_come_to_once_in_order_with_its_input"],
            ),
            (
                "every event, decision and way of failing",
                &[
                    "every_answer_before_a_tool",
                    "every_answer_to_a_notification",
                    "the_table_has_every_event",
                ],
            ),
            ("a blocked tool and its words", &["a_blocked_call_fails_with_its_reason_and_the_model_goes_on"]),
            (
                "changed arguments, one hook and one call",
                &["changed_arguments_are_what_runs_and_what_is_recorded"],
            ),
            (
                "ask, even in yolo",
                &["a_hook_that_wants_a_person_to_be_asked_is_heard_even_where_all_is_allowed"],
            ),
            (
                "continue: false",
                &["a_hook_may_end_the_turn_anywhere", "a_turn_that_hooks_ended_says_so_in_every_format"],
            ),
            ("context of a tool's result", &["what_a_tool_gave_is_added_to_or_withheld"]),
            ("tail calls", &["a_tail_call_is_a_call_of_its_own_and_gives_the_result"]),
            ("a request that is not made", &["a_request_is_not_made_where_a_hook_does_not_let_it_through"]),
            ("synthetic answers", &["a_hook_answers_in_the_models_place"]),
            (
                "changed messages",
                &["a_hook_changes_what_is_asked_once", "words_that_a_hook_changes_leave_calls_and_results"],
            ),
            ("changed answers", &["nobody_sees_an_answer_before_its_hooks"]),
            ("chosen tools", &["a_hook_chooses_among_the_tools"]),
            (
                "context of session and prompt",
                &["context_of_the_session_and_of_the_prompt_goes_into_the_request"],
            ),
            (
                "a prompt that is not let through",
                &["a_prompt_that_is_not_let_through_is_no_part_of_the_conversation"],
            ),
            (
                "AfterAgent goes on, clearContext",
                &[
                    "a_turn_goes_on_with_the_reason_of_a_hook_and_says_so_to_it",
                    "a_hook_may_have_everything_forgotten_before_the_turn_goes_on",
                ],
            ),
            ("sequential", &["hooks_in_turn_run_in_order_and_see_what_was_changed"]),
            ("parallel", &["hooks_at_once_run_at_once"]),
            (
                "a failing one beside a working one",
                &["a_failing_hook_does_not_stop_one_that_works_beside_it"],
            ),
            (
                "exit codes, text, stderr, garbage",
                &["no_way_of_failing_holds_a_session_up", "an_answer_may_come_on_the_other_output"],
            ),
            ("notifications", &["a_person_who_is_asked_is_told_of_by_a_notification"]),
            ("compression, auto and manual", &["a_compression_that_somebody_asks_for_is_told_as_such"]),
            ("startup and resume", &["a_session_that_is_gone_on_with_says_so"]),
            ("clear and exit", &["hooks_are_told_why_a_session_ends_and_the_next_begins"]),
            ("disabled ones", &["a_hook_that_is_switched_off_does_not_run"]),
            ("the same in both files runs once", &["a_hook_of_both_files_runs_once"]),
            ("in editors", &["hooks_run_in_an_editor_as_everywhere"]),
            ("for programs that prompt over MCP", &["hooks_run_for_another_program_as_everywhere"]),
            (
                "project hooks after trust",
                &["hooks_of_a_workspace_run_once_it_is_trusted_and_are_told_of_before"],
            ),
            ("at a server", &["hooks_run_in_sessions_of_a_server"]),
            (
                "what is logged of hooks, calls and requests",
                &[
                    "a_hook_is_logged_with_all_that_went_in_and_out",
                    "changed_arguments_are_those_that_are_logged_and_nothing_happens_twice",
                    "of_a_tail_call_the_second_alone_is_logged",
                    "what_a_hook_blocks_is_logged_as_such_or_not_at_all",
                    "what_a_hook_adds_or_changes_is_in_the_request_that_is_logged",
                ],
            ),
            ("bare text and exit codes", &["bare_text_and_exit_codes_mean_what_they_mean_elsewhere"]),
            (
                "allow, approve, no decision, and a word that is none",
                &["a_decision_is_read_whatever_its_letters", "a_decision_that_means_nothing_is_no_yes"],
            ),
            (
                "a matcher that is not understood",
                &["a_guard_whose_matcher_is_not_understood_guards_every_tool_and_is_told_of"],
            ),
            ("matchers", &["a_matcher_is_a_pattern_for_tools_and_a_word_elsewhere"]),
            ("once for each prompt", &["hooks_of_a_prompt_run_once_however_many_calls_it_takes"]),
            ("AfterAgent, as logged", &["a_turn_goes_on_for_a_hook_and_forgets_where_it_wants"]),
        ],
    ),
    (
        "tools",
        &[
            ("read_file: a path from the working folder on", &["files_are_read_whatever_their_encoding"]),
            ("read_file: a file outside is an error", &["file_tools_do_what_their_arguments_say"]),
            ("read_file: text without a mark", &["files_are_read_whatever_their_encoding"]),
            ("read_file: UTF-8 with a mark", &["files_are_read_whatever_their_encoding"]),
            ("read_file: UTF-16, little end first", &["files_are_read_whatever_their_encoding"]),
            ("read_file: UTF-16, big end first", &["files_are_read_whatever_their_encoding"]),
            ("read_file: UTF-32, little end first", &["files_are_read_whatever_their_encoding"]),
            ("read_file: UTF-32, big end first", &["files_are_read_whatever_their_encoding"]),
            ("write_file: a new file", &["file_tools_do_what_their_arguments_say"]),
            ("write_file: the folders it needs", &["file_tools_do_what_their_arguments_say"]),
            ("replace: a text in a file", &["file_tools_do_what_their_arguments_say"]),
            ("replace: `$` stands for itself", &["file_tools_do_what_their_arguments_say"]),
            ("replace: a missing file is a failure", &["file_tools_do_what_their_arguments_say"]),
            ("replace: and is not made", &["file_tools_do_what_their_arguments_say"]),
            ("list_directory", &["file_tools_do_what_their_arguments_say"]),
            ("read_many_files", &["file_tools_do_what_their_arguments_say"]),
            ("glob", &["file_tools_do_what_their_arguments_say"]),
            ("grep_search", &["file_tools_do_what_their_arguments_say"]),
            ("run_shell_command: what it prints is told", &["commands_get_the_callers_variables"]),
            ("run_shell_command: the caller's variables", &["commands_get_the_callers_variables"]),
            ("run_shell_command: without a terminal", &["commands_get_the_callers_variables"]),
            ("run_shell_command: an exit code is no failed call", &["commands_get_the_callers_variables"]),
            ("run_shell_command: in the background", &["a_background_process_is_listed_and_read"]),
            ("list_background_processes", &["a_background_process_is_listed_and_read"]),
            (
                "read_background_output: what it wrote",
                &["what_a_background_process_wrote_is_read_by_its_number"],
            ),
            ("read_background_output: of no process", &["a_background_process_is_listed_and_read"]),
            (
                "google_web_search: in a request of its own",
                &["the_provider_searches_in_an_exchange_of_its_own"],
            ),
            ("google_web_search: its sources", &["sources_are_recorded_and_told_in_every_format"]),
            (
                "web_fetch: ten for a host in a minute, and the error's words",
                &["the_eleventh_request_to_a_host_in_a_minute_is_refused"],
            ),
            ("enter_plan_mode", &["plan_mode_is_entered_and_left_where_that_is_allowed"]),
            ("exit_plan_mode", &["plan_mode_is_entered_and_left_where_that_is_allowed"]),
            ("list_mcp_resources", &["resources_of_servers_are_listed_and_read"]),
            ("read_mcp_resource", &["resources_of_servers_are_listed_and_read"]),
            ("mcp_server_tool", &["resources_of_servers_are_listed_and_read"]),
            ("invoke_agent", &["an_agent_works_in_a_session_of_its_own_that_is_linked_to_the_call"]),
            (
                "invoke_agent: of none that is here",
                &["an_agent_that_is_not_here_is_a_failed_call_and_no_end"],
            ),
            (
                "several calls: all run, and answer in one turn and in order",
                &["calls_of_one_answer_run_together_and_answer_in_order"],
            ),
            (
                "several calls: what writes asks, what reads does not",
                &["calls_of_one_answer_run_together_and_answer_in_order"],
            ),
            ("a tool that is not known", &["what_happened_is_on_disk_when_the_run_ends"]),
            ("tools.core: those alone, or none", &["core_tools_are_all_there_is"]),
        ],
    ),
    (
        "plan mode",
        &[
            ("plans are written in their folder alone", &["plan_mode_writes_plans_and_nothing_else"]),
            (
                "nothing that runs is offered",
                &["plan_mode_runs_nothing_and_offers_nothing_that_runs", "only_what_may_run_is_declared"],
            ),
            ("by default from the settings", &["the_default_mode_comes_from_the_settings"]),
            ("another model plans", &["another_model_plans_where_one_is_named_for_it"]),
            ("entered and left", &["plan_mode_is_entered_and_left_where_that_is_allowed"]),
            ("never left unasked", &["nobody_leaves_plan_mode_unasked"]),
        ],
    ),
    (
        "policy",
        &[
            ("yolo: everything runs", &["commands_run_as_rules_and_flags_say"]),
            (
                "default: what would ask is no tool",
                &["headless_reading_runs_and_what_would_be_asked_about_is_no_tool"],
            ),
            ("default: what reads runs", &["headless_reading_runs_and_what_would_be_asked_about_is_no_tool"]),
            ("--policy: a denied command, in its words", &["commands_run_as_rules_and_flags_say"]),
            ("--policy: a prefix that is allowed, others are not", &["commands_run_as_rules_and_flags_say"]),
            ("--policy: the highest priority wins", &["commands_run_as_rules_and_flags_say"]),
            ("policies of the user's folder", &["rules_of_the_user_and_of_the_workspace_hold"]),
            ("policies of a workspace", &["rules_of_the_user_and_of_the_workspace_hold"]),
            ("--allowed-tools: a prefix", &["commands_run_as_rules_and_flags_say"]),
            ("--allowed-tools: another command is denied", &["commands_run_as_rules_and_flags_say"]),
            ("--allowed-tools: every segment counts", &["commands_run_as_rules_and_flags_say"]),
            ("--allowed-tools: the bare name allows all", &["commands_run_as_rules_and_flags_say"]),
            ("--allowed-tools: ShellTool, and twice", &["commands_run_as_rules_and_flags_say"]),
            (
                "--allowed-tools: a line that cannot be read is refused",
                &["commands_run_as_rules_and_flags_say"],
            ),
            ("keys that are not known", &["keys_that_are_not_known_make_no_rule_more_lenient"]),
        ],
    ),
    (
        "output",
        &[
            ("text: the answer, and no line of a log", &["text_is_the_answer_and_nothing_else"]),
            ("text: @missing-file is not fatal", &["text_is_the_answer_and_nothing_else"]),
            ("json: one document with session_id and response", &["json_is_one_document_with_statistics"]),
            ("json: figures of tools and models", &["json_is_one_document_with_statistics"]),
            ("json: lines of changed files", &["statistics_count_the_lines_of_changed_files"]),
            (
                "json: no error on success, and a failed tool is not fatal",
                &["json_is_one_document_with_statistics"],
            ),
            (
                "json: an error on standard error, with its type, code and message",
                &["another_login_than_the_enforced_one_is_refused"],
            ),
            ("stream-json: the types of lines", &["lines_of_json_have_the_types_that_readers_know"]),
            (
                "41 for another login than the enforced one",
                &["another_login_than_the_enforced_one_is_refused"],
            ),
            ("42 for -i with piped text, and no request", &["a_conversation_is_no_answer_to_what_is_piped"]),
            ("42 for no prompt at all, in its words", &["no_prompt_at_all_is_told_in_the_known_words"]),
            ("1, 52 and 55", &["exit_codes_are_those_that_scripts_know"]),
            (
                "what a failed tool, a policy and a hook say",
                &[
                    "json_is_one_document_with_statistics",
                    "commands_run_as_rules_and_flags_say",
                    "a_blocked_call_fails_with_its_reason_and_the_model_goes_on",
                ],
            ),
            (
                "telemetry: user_prompt, api_request, tool_call",
                &["what_happened_is_on_disk_when_the_run_ends"],
            ),
            ("telemetry: hook_call", &["a_hook_is_logged_with_all_that_went_in_and_out"]),
            ("telemetry: chat_compression", &["a_compression_is_told_and_logged_and_none_is_not"]),
            ("telemetry: metrics, and none of flicker", &["metrics_are_objects_of_their_own"]),
            ("telemetry: traces", &["nothing_is_written_unless_it_is_wanted"]),
            (
                "telemetry: how its readers split it",
                &["braces_in_what_was_said_tear_no_object", "runs_that_share_a_file_add_to_it"],
            ),
            ("telemetry: on disk when a run ends", &["what_happened_is_on_disk_when_the_run_ends"]),
            (
                "telemetry: on disk while the terminal runs",
                &["what_happens_is_in_the_telemetry_file_while_the_terminal_runs"],
            ),
        ],
    ),
    (
        "interactive",
        &[
            ("the words that scripts wait for", &["the_words_that_scripts_wait_for_are_there"]),
            (
                "typing shows each beginning in one piece",
                &["every_beginning_of_what_is_typed_is_written_in_one_piece"],
            ),
            ("y and Enter to a confirmation", &["a_yes_in_full_letters_is_one_answer_and_no_message"]),
            ("/clear", &["hooks_are_told_why_a_session_ends_and_the_next_begins"]),
            (
                "what hooks say at the start and at a card",
                &["hooks_and_servers_are_told_in_the_words_that_scripts_wait_for"],
            ),
            (
                "/compress, after one turn, too",
                &[
                    "a_compression_is_told_and_logged_and_none_is_not",
                    "a_conversation_of_one_turn_is_compressed",
                ],
            ),
        ],
    ),
    (
        "MCP",
        &[
            ("stdio servers and mcp_server_tool", &["servers_are_taken_and_can_be_chosen"]),
            (
                "a schema that needs itself",
                &["a_tool_runs_before_its_server_was_ever_seen_and_is_declared_from_then_on"],
            ),
            ("resources", &["a_resource_that_a_prompt_names_comes_along"]),
            (
                "list_mcp_resources, read_mcp_resource and mcp_server_tool at once",
                &["resources_of_servers_are_listed_and_read"],
            ),
            ("/mcp list", &["hooks_and_servers_are_told_in_the_words_that_scripts_wait_for"]),
            ("prompts", &["prompts_of_servers_are_commands", "a_prompt_of_a_server_is_a_command"]),
        ],
    ),
    (
        "extensions",
        &[
            ("install, list, update, uninstall", &["one_is_installed_listed_updated_and_removed"]),
            ("a link stands for where it leads", &["a_link_is_installed_from_where_it_leads"]),
            (
                "with folder trust: the folder, the workspace, the extension; the real path is kept, a link that leads elsewhere asks again",
                &["folders_are_asked_about_where_gemini_clis_settings_want_it_by_where_they_lead"],
            ),
            (
                "consent again when an update brings something else",
                &["an_update_asks_again_when_it_brings_something_else"],
            ),
            ("at the terminal", &["extensions_and_hooks_are_listed_and_switched"]),
            (
                "extensions-reload: Enter agrees, (updated), the new server's tool",
                &["enter_agrees_to_an_update_that_only_moves_a_server_on_its_host"],
            ),
            (
                "taken up without a new start",
                &[
                    "extensions_come_change_and_go_while_a_conversation_goes_on",
                    "an_update_of_an_extension_is_told_at_the_start",
                ],
            ),
        ],
    ),
    (
        "resume",
        &[
            ("latest, and by number", &["a_session_is_gone_on_with"]),
            (
                "sessions of Gemini CLI",
                &["old_conversations_are_listed_by_their_age_and_gone_on_with_by_their_number"],
            ),
        ],
    ),
];

/// How many of the public tests there are in a group: it has at least as many rows.
const PUBLIC: [(&str, usize); 9] = [
    ("hooks", 33),
    ("tools", 34),
    ("plan mode", 6),
    ("policy", 7),
    ("output", 11),
    ("interactive", 6),
    ("MCP", 4),
    ("extensions", 3),
    ("resume", 1),
];

#[test]
fn no_group_has_fewer_rows_than_public_tests() {
    for (name, least) in PUBLIC {
        let (_, rows) = GROUPS.iter().find(|(group, _)| *group == name).unwrap();
        assert!(rows.len() >= least, "{name} has {} rows, the public tests are {least}", rows.len());
        let mut titles: Vec<&str> = rows.iter().map(|(title, _)| *title).collect();
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), rows.len(), "{name} has a row twice");
    }
}

/// Every source of the binary's tests.
fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, all),
            false if path.extension().is_some_and(|ending| ending == "rs") => {
                all.push_str(&std::fs::read_to_string(&path).unwrap());
            }
            false => {}
        }
    }
}

#[test]
fn every_assertion_has_a_test_that_is_there() {
    let mut all = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut all);
    for (group, assertions) in GROUPS {
        for (assertion, tests) in assertions {
            assert!(!tests.is_empty(), "{group}: {assertion}");
            for test in *tests {
                let is_there =
                    all.contains(&format!("fn {test}()")) || all.contains(&format!("    {test}: \""));
                assert!(is_there, "{group}: {assertion}: there is no test {test}");
            }
        }
    }
}
