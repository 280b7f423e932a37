//! `charla attach`: a server's session at this terminal, as if it ran here.

use std::sync::Arc;

use charla::trust::TrustDemand;
use charla::{Begin, Charla, Failure, Notices, OpenRequest};
use charla_client::{RemoteSessions, RemoteStore};
use charla_terminal::printer::Printer;
use charla_tui::Launch;
use charla_tui::app::{Demands, Look};

use crate::args::AttachArgs;
use crate::commands::server::connect;
use crate::talk::{self, in_lines, is_plain, on_screen};
use charla_tui::linear::Scene;

/// Talks until the person leaves, and returns the exit code. The session goes on at the server.
pub async fn run(args: AttachArgs, charla: &Charla, no_color: bool, mut printer: Printer) -> i32 {
    let again = format!("charla attach {}", args.server);
    let form = match args.screen_reader || is_plain(charla) || !charla_tui::terminal::is_there() {
        true => talk::Form::Lines,
        false => talk::Form::Screen,
    };
    let scene = match scene(args, charla, &mut printer).await {
        Ok(scene) => scene,
        Err(failure) => return printer.refuse(&failure),
    };
    match form {
        talk::Form::Lines => in_lines(scene, &again, &mut printer).await,
        talk::Form::Screen => {
            let Scene { charla: there, source, me, settings, request, .. } = scene;
            let look = Look::of(charla.environment(), no_color);
            let (first_run, prompt) = (None, None);
            let demands = Demands::default();
            let launch =
                Launch { charla: there, source, me, settings, demands, request, first_run, prompt, look };
            on_screen(launch, &again, &mut printer).await
        }
    }
}

/// Everything to talk with: the sessions are the server's, everything else is of this machine.
async fn scene(args: AttachArgs, charla: &Charla, printer: &mut Printer) -> Result<Scene, Failure> {
    let effective = charla.settings(Vec::new(), &TrustDemand::default())?;
    effective.notices.iter().for_each(|notice| Notices::warning(printer, notice));
    let client = connect(&args.server, &effective.settings, charla)?;
    let me = client.account().await?.name;
    let begin = args.session.map_or(Begin::New, Begin::Resume);
    Ok(Scene {
        charla: charla.clone().with_store(Arc::new(RemoteStore::new(client.clone()))),
        source: Arc::new(RemoteSessions::new(client)),
        me,
        settings: effective.settings,
        request: OpenRequest { begin, ..OpenRequest::default() },
        first_run: None,
        opening: None,
    })
}
