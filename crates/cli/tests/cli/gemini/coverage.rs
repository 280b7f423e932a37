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
                "at an editor: a key of the folder's .env, a refused key, the answer",
                &["an_editor_is_told_of_a_key_that_is_refused_and_of_the_answer_otherwise"],
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
            (
                "sequential and parallel",
                &["hooks_in_turn_run_in_order_and_see_what_was_changed", "hooks_at_once_run_at_once"],
            ),
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
            (
                "startup, resume, clear, exit",
                &[
                    "a_session_that_is_gone_on_with_says_so",
                    "hooks_are_told_why_a_session_ends_and_the_next_begins",
                ],
            ),
            (
                "disabled ones, both files, telemetry",
                &["a_hook_that_is_switched_off_does_not_run", "a_hook_of_both_files_runs_once"],
            ),
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
            ("matchers", &["a_matcher_is_a_pattern_for_tools_and_a_word_elsewhere"]),
            ("once for each prompt", &["hooks_of_a_prompt_run_once_however_many_calls_it_takes"]),
            ("AfterAgent, as logged", &["a_turn_goes_on_for_a_hook_and_forgets_where_it_wants"]),
        ],
    ),
    (
        "tools",
        &[
            ("read_file and every BOM", &["files_are_read_whatever_their_encoding"]),
            (
                "write_file, replace, list_directory, read_many_files, glob, grep_search",
                &["file_tools_do_what_their_arguments_say"],
            ),
            ("run_shell_command and the caller's variables", &["commands_get_the_callers_variables"]),
            ("background processes", &["a_background_process_is_listed_and_read"]),
            ("several calls in one answer", &["calls_of_one_answer_run_together_and_answer_in_order"]),
            ("web_fetch's rate limit", &["the_eleventh_request_to_a_host_in_a_minute_is_refused"]),
            (
                "google_web_search in a request of its own",
                &["the_provider_searches_in_an_exchange_of_its_own"],
            ),
            ("sources of a search", &["sources_are_recorded_and_told_in_every_format"]),
            ("tools.core", &["core_tools_are_all_there_is"]),
            ("an unknown tool", &["what_happened_is_on_disk_when_the_run_ends"]),
            ("invoke_agent", &["an_agent_works_in_a_session_of_its_own_that_is_linked_to_the_call"]),
            ("an agent that is not here", &["an_agent_that_is_not_here_is_a_failed_call_and_no_end"]),
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
            (
                "entered and left",
                &["plan_mode_is_entered_and_left_where_that_is_allowed", "nobody_leaves_plan_mode_unasked"],
            ),
        ],
    ),
    (
        "policy",
        &[
            (
                "--allowed-tools, --policy, prefixes, priorities, unparsable lines",
                &["commands_run_as_rules_and_flags_say"],
            ),
            ("policies of the user and of the workspace", &["rules_of_the_user_and_of_the_workspace_hold"]),
            (
                "what would be asked about is not offered",
                &["headless_reading_runs_and_what_would_be_asked_about_is_no_tool"],
            ),
            ("unknown keys", &["keys_that_are_not_known_make_no_rule_more_lenient"]),
        ],
    ),
    (
        "output",
        &[
            ("text", &["text_is_the_answer_and_nothing_else"]),
            (
                "json",
                &["json_is_one_document_with_statistics", "statistics_count_the_lines_of_changed_files"],
            ),
            ("stream-json", &["lines_of_json_have_the_types_that_readers_know"]),
            ("the enforced login", &["another_login_than_the_enforced_one_is_refused"]),
            ("exit codes", &["exit_codes_are_those_that_scripts_know"]),
            (
                "telemetry: events, metrics, traces",
                &[
                    "what_happened_is_on_disk_when_the_run_ends",
                    "metrics_are_objects_of_their_own",
                    "nothing_is_written_unless_it_is_wanted",
                ],
            ),
            (
                "telemetry: how its readers split it",
                &["braces_in_what_was_said_tear_no_object", "runs_that_share_a_file_add_to_it"],
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
            ("/compress", &["a_compression_is_told_and_logged_and_none_is_not"]),
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
                "consent again when an update brings something else",
                &["an_update_asks_again_when_it_brings_something_else"],
            ),
            ("at the terminal", &["extensions_and_hooks_are_listed_and_switched"]),
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
