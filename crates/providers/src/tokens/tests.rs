use std::sync::Arc;

use charla_proto::{FunctionCall, FunctionResponse, Role, Tool};
use serde_json::json;

use super::*;

/// Texts of our own with their counts in two public vocabularies: o200k (GPT-4o and later) and Qwen.
const CHINESE: [(&str, u64, u64); 3] = [
    (
        "清晨，老人推开木门，看见院子里落满了昨夜的雪。他没有急着扫，只是站在门口，听远处的狗叫和近处的水声。\
         孩子们还没有醒，厨房里的火已经烧起来了，锅里的粥慢慢冒着热气。他想起年轻的时候，也是这样的早晨，\
         父亲带着他去集市上卖柴，一路上谁也不说话，只有脚下的雪咯吱作响。那时候他不明白沉默是什么意思，\
         现在他明白了：有些话不必说出口，走在一起就够了。",
        141,
        110,
    ),
    (
        "当模型返回一个函数调用时，调度器首先检查参数是否完整，然后按照策略决定是否需要用户确认。\
         如果没有人可以回答，默认的结果是拒绝。每一次调用都必须得到一个响应，无论它是成功、失败还是被取消，\
         否则下一次请求会被服务器拒绝。日志先写入磁盘，再通知订阅者，这样即使程序崩溃，\
         会话也可以从最后一条记录恢复。上下文窗口快满的时候，旧的对话会被压缩成一段摘要。",
        116,
        104,
    ),
    (
        "请帮我写一个 Python 脚本，读取 data.csv 里的第 3 列，计算平均值，然后用 matplotlib 画一张折线图，\
         保存为 result.png。注意：文件可能有 20000 多行，不要一次全部读进内存。如果某一行的数值为空，\
         就跳过这一行，并在最后打印出一共跳过了多少行。",
        85,
        86,
    ),
];

const ENGLISH: [(&str, u64, u64); 1] = [(
    "The harbour was quiet when the ferry came in. A few people waited under the awning with their collars \
     turned up, and the man who sold coffee had already closed his shutters. Nobody spoke of the delay. They \
     had learned, over the winter, that the timetable was a kind of hope rather than a promise, and that \
     complaining about it only made the wait feel longer. When the ramp finally came down, they walked aboard \
     without hurrying, as if they had all the time in the world.",
    101,
    102,
)];

const CODE: [(&str, u64, u64); 2] = [
    (
        r#"/// Reads the head of a journal and says where the next record begins.
pub fn open(path: &Path) -> Result<Journal, JournalError> {
    let file = File::options().read(true).append(true).open(path)?;
    let mut reader = BufReader::new(&file);
    let mut line = String::new();
    let mut offset = 0u64;
    while reader.read_line(&mut line)? > 0 {
        if !line.ends_with('\n') {
            tracing::warn!(offset, "the last record was cut; it is dropped");
            break;
        }
        offset += line.len() as u64;
        line.clear();
    }
    Ok(Journal { file, offset, pending: Vec::new() })
}
"#,
        159,
        161,
    ),
    (
        r#"def moving_average(values, window=5):
    """Average of the last `window` values, one result for each input."""
    total = 0.0
    queue = collections.deque()
    for value in values:
        queue.append(value)
        total += value
        if len(queue) > window:
            total -= queue.popleft()
        yield total / len(queue)


class Ledger:
    def __init__(self, path):
        self.path = path
        self.entries = []

    def add(self, account, amount):
        if amount == 0:
            raise ValueError(f"nothing to book on {account!r}")
        self.entries.append({"account": account, "amount": amount})
"#,
        147,
        146,
    ),
];

/// Estimate over count, for all texts together.
fn ratios(texts: &[(&str, u64, u64)]) -> [f64; 2] {
    let estimated: u64 = texts.iter().map(|(text, ..)| estimate_text(text)).sum();
    let counted =
        [texts.iter().map(|text| text.1).sum::<u64>(), texts.iter().map(|text| text.2).sum::<u64>()];
    counted.map(|counted| estimated as f64 / counted as f64)
}

#[test]
fn chinese_is_within_fifteen_percent_of_two_vocabularies() {
    for ratio in ratios(&CHINESE) {
        assert!((0.85..=1.15).contains(&ratio), "{ratio}");
    }
}

#[test]
fn english_and_code_are_within_ten_percent_of_two_vocabularies() {
    for ratio in ratios(&ENGLISH).into_iter().chain(ratios(&CODE)) {
        assert!((0.90..=1.10).contains(&ratio), "{ratio}");
    }
}

#[test]
fn scripts_without_spaces_are_not_one_long_word() {
    let japanese = estimate_text("今日は天気がいいので、公園を散歩しました。");
    assert!((10..=20).contains(&japanese), "{japanese}");
    let korean = estimate_text("오늘은 날씨가 좋아서 공원을 산책했습니다.");
    assert!((10..=24).contains(&korean), "{korean}");
}

#[test]
fn nothing_costs_nothing_and_more_never_costs_less() {
    assert_eq!(estimate_text(""), 0);
    let text = "let x = HTTPServer::new(8080); // 你好 🙂\n\n\treturn";
    let mut last = 0;
    for (end, _) in text.char_indices() {
        let cost = estimate_text(text.get(..end).unwrap_or_default());
        // A word may get cheaper by a letter that completes it, never by more than that.
        assert!(cost + 1 >= last, "{end}: {cost} after {last}");
        last = cost;
    }
}

#[test]
fn everything_that_is_sent_is_counted() {
    let base = GenerateRequest::new("gpt-5", vec![Arc::new(Content::user("Hello there"))]);
    let more = |change: &dyn Fn(&mut GenerateRequest)| {
        let mut request = base.clone();
        change(&mut request);
        estimate(&request) - estimate(&base)
    };
    let say = |request: &mut GenerateRequest, part: Part| {
        request.contents.push(Arc::new(Content::new(Role::User, vec![part])));
    };
    assert!(more(&|request| request.system_instruction = Some(Arc::new(Content::user("Be kind")))) >= 5);
    let args = Map::from_iter([("path".to_owned(), json!("src/main.rs"))]);
    let call = Part::function_call(FunctionCall::new("1", "read_file", args));
    assert!(more(&|request| say(request, call.clone())) >= 15);
    let result = Part::function_response(FunctionResponse::output("1", "read_file", "word ".repeat(100)));
    assert!((100..150).contains(&more(&|request| say(request, result.clone()))));
    assert!(more(&|request| say(request, Part::inline_data("image/png", "AAAA"))) > 200);
    assert_eq!(more(&|request| say(request, Part::thought("a long thought"))), MESSAGE / HUNDREDTHS);
    let declaration = Arc::new(FunctionDeclaration {
        name: "read_file".to_owned(),
        description: "Reads a file of the workspace".to_owned(),
        parameters_json_schema: json!({"type": "object", "properties": {"path": {"type": "string",
            "description": "Where it is"}}}),
        ..FunctionDeclaration::default()
    });
    let tools =
        |request: &mut GenerateRequest| request.tools = vec![Tool::functions(vec![declaration.clone()])];
    assert!((30..70).contains(&more(&tools)));
}

#[test]
fn ten_megabytes_are_estimated_at_once() {
    let text = "some words of a long prompt, ".repeat(350_000);
    assert!(estimate_text(&text) > 1_000_000);
}
