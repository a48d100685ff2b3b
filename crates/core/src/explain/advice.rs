//! Advice in English and in Chinese. Each one names the command to run.
//!
//! A plain `foxwedge fix FILE` uses the profile of the file's own format. Where a provider requires
//! more than that, the command names a profile.

/// One advice in two languages.
pub(super) struct RuleAdvice {
    pub(super) en: &'static str,
    pub(super) zh: &'static str,
}

macro_rules! advice {
    ($($name:ident: $en:literal, $zh:literal;)*) => {
        $(pub(super) const $name: RuleAdvice = RuleAdvice { en: $en, zh: $zh };)*
    };
}

// Calls and answers.
advice! {
    UNANSWERED:
        "A tool call has no result where the provider expects it: directly after the call. Run \
        `foxwedge fix FILE`: a result elsewhere in the history is moved to its call, a missing \
        one is replaced by a placeholder.",
        "有一个工具调用在紧随其后的位置没有结果。请运行 `foxwedge fix FILE`：放错位置的结果会被移回原位，缺失的结果会补上如实说明情况的占位结果。";
    ORPHAN:
        "A tool result names a call that is not before it; most often the history was cut between \
        the two. Run `foxwedge fix FILE`: the result is moved to its call, or kept as user text \
        if there is none.",
        "有一个工具结果在它前面找不到对应的调用，多半是历史记录在两者之间被截断。请运行 `foxwedge fix FILE`：结果会移到它的调用之后；若没有对应的调用，则保留为用户文本。";
    ORPHAN_ITEM:
        "An output item names a call that is neither in the input nor in the stored conversation. \
        Send the call too, or the right `previous_response_id`; otherwise run `foxwedge fix \
        FILE`, which keeps the output as user text.",
        "有一个输出项所指的调用既不在输入里，也不在服务器保存的对话里。请一并发送该调用，或填写正确的 `previous_response_id`；否则运行 `foxwedge fix FILE`，输出会保留为用户文本。";
    DISPLACED_MISTRAL:
        "A tool message does not directly follow the assistant message with its call. Run \
        `foxwedge fix --profile mistral FILE`: the results are moved to their calls.",
        "有一条 tool 消息没有紧跟在发起调用的 assistant 消息之后。请运行 `foxwedge fix --profile mistral FILE`：结果会移回到调用之后。";
    DUPLICATE_ANSWER:
        "One tool call has more than one result. Run `foxwedge fix FILE`: the first real result \
        stays, copies are removed, and a different one is kept as user text.",
        "同一个调用有多个结果。请运行 `foxwedge fix FILE`：保留第一个真实结果，删除重复的副本，内容不同的结果保留为用户文本。";
    ANSWER_AFTER_TEXT:
        "Other content is before the tool results in their message. Run `foxwedge fix FILE`: the \
        results are put first.",
        "在包含工具结果的消息里，结果之前还有其他内容。请运行 `foxwedge fix FILE`：结果会被排到最前面。";
    SHARED_ANSWER_MESSAGE:
        "A message has tool results and other content, and this model requires the results in a \
        message of their own. Run `foxwedge fix --profile strict FILE`: the message is split.",
        "一条消息里既有工具结果又有其他内容，而该模型要求结果单独成一条消息。请运行 `foxwedge fix --profile strict FILE`：该消息会被拆分。";
    MINIMAX:
        "MiniMax found a tool result that does not directly follow its call: another message is \
        between them, or one of the two is missing. Run `foxwedge fix --profile strict FILE`.",
        "MiniMax 发现某个工具结果没有紧跟在它的调用之后：中间夹着别的消息，或者缺了其中一半。请运行 `foxwedge fix --profile strict FILE`。";
    NAME_MISMATCH:
        "A tool result has no name, or not the name of its call. Run `foxwedge fix FILE`: the \
        name is copied from the call.",
        "有一个工具结果没有名称，或与其调用的名称不一致。请运行 `foxwedge fix FILE`：名称会从调用处复制过来。";
    TOO_MANY_CALLS:
        "One assistant message has more than 128 tool calls. Run `foxwedge fix FILE`: the turn is \
        split into rounds.",
        "一条 assistant 消息里的调用超过 128 个。请运行 `foxwedge fix FILE`：该轮会被拆成多轮。";
    DEAD_SERVER_CALL:
        "A call that the provider runs itself has no result, and the conversation went on. Run \
        `foxwedge fix FILE`: the unfinished call is removed. To let the call finish instead, send \
        the history with that turn as its last message.",
        "由服务商自己执行的一个调用没有得到结果，而对话已经继续。请运行 `foxwedge fix FILE`：失效的块会被删除。若想让该调用继续执行，请让那一轮作为最后一条消息发送。";
    ORPHAN_SERVER_ANSWER:
        "The result of a provider-run tool has no call. Run `foxwedge fix FILE`: the block is \
        removed.",
        "由服务商执行的工具只剩下结果，缺少对应的调用。请运行 `foxwedge fix FILE`：该块会被删除。";
    CONCURRENCY:
        "The client shows this text instead of the provider's error; the history has tool calls \
        and results that do not match. Run `foxwedge check FILE` to see which, then `foxwedge fix \
        FILE`.",
        "客户端用这句话掩盖了服务商的原始报错；实际原因是历史记录中的调用与结果没有配对。请先运行 `foxwedge check FILE` 查看位置，再运行 `foxwedge fix FILE`。";
}

// Ids and names.
advice! {
    UNIQUE_IDS:
        "The same call id is used twice. Run `foxwedge fix FILE`: the later call and its result \
        get a new id.",
        "同一个调用 id 被使用了两次。请运行 `foxwedge fix FILE`：后一个调用及其结果会换用新的 id。";
    COPIED_CALL:
        "The input holds a call twice, with the same item `id`. Run `foxwedge fix FILE`: of two \
        copies in one turn, the later one gets a new call id and loses its `id`. If it finds \
        nothing, the copy is in another turn: leave it out, or delete its `id`.",
        "输入中同一个调用出现了两次，条目的 `id` 相同。请运行 `foxwedge fix FILE`：同一轮的两份中，后一份会换用新的调用 id 并去掉 `id`。若没有发现问题，则另一份在别的轮次：请去掉它，或删除它的 `id`。";
    UNIQUE_IDS_ANTHROPIC:
        "The same call id is used twice. Run `foxwedge fix FILE`: of two calls in one turn, the \
        later one and its result get a new id. If it finds nothing, a later turn uses the id \
        again: run `foxwedge fix --profile strict --select FW202 FILE`.",
        "同一个调用 id 被使用了两次。请运行 `foxwedge fix FILE`：同一轮的两个调用中，后一个及其结果会换用新的 id。若没有发现问题，则是后面的一轮又用了该 id：请运行 `foxwedge fix --profile strict --select FW202 FILE`。";
    UNIQUE_IDS_STRICT:
        "The same call id is used twice, in one turn or in two. Run `foxwedge fix --profile \
        strict FILE`: every call and its result get a unique id.",
        "同一个调用 id 在一轮或多轮中被重复使用。请运行 `foxwedge fix --profile strict FILE`：每个调用及其结果都会有唯一的 id。";
    ILLEGAL_ID:
        "A call id has characters or a length that this provider does not allow; it often comes \
        from another provider. Run `foxwedge fix FILE`: the id is replaced on the call and on its \
        result.",
        "某个调用 id 含有该服务商不允许的字符或长度，通常来自另一家服务商。请运行 `foxwedge fix FILE`：调用及其结果上的 id 会一并替换。";
    MISTRAL_ID:
        "Mistral requires call ids of exactly nine letters and digits. Run `foxwedge fix \
        --profile mistral FILE`: ids are replaced on calls and results.",
        "Mistral 要求调用 id 恰好为九个字母或数字。请运行 `foxwedge fix --profile mistral FILE`：调用和结果上的 id 会同时替换。";
    MISSING_ID:
        "A tool call or a tool result has no id. Run `foxwedge fix FILE`: a new id is written on \
        both.",
        "某个调用或结果没有 id。请运行 `foxwedge fix FILE`：会生成一个 id 并同时写到两边。";
    ITEM_ID:
        "An item carries an `id` of the wrong kind; only `call_id` pairs calls with outputs. Run \
        `foxwedge fix FILE`: the `id` is removed.",
        "某个条目的 `id` 类型不对；调用与输出只靠 `call_id` 配对。请运行 `foxwedge fix FILE`：该 `id` 会被删除。";
    UNSTORED:
        "The input names an item that the server never stored (`store: false`). Run `foxwedge fix \
        FILE` on the whole request: the reasoning item without content is removed, and the id of \
        the item after it.",
        "输入里引用了服务器未保存的条目（`store: false`）。请对整个请求运行 `foxwedge fix FILE`：空的推理条目会被删除，其后条目的 id 也会去掉。";
    TOOL_NAME:
        "A call has a tool name that is empty or has characters that this provider does not \
        allow. Run `foxwedge fix FILE`: the name is replaced by a valid one.",
        "某个调用的工具名为空，或含有该服务商不允许的字符。请运行 `foxwedge fix FILE`：名称会被清理。";
}

// Content of messages.
advice! {
    ARGUMENTS:
        "The arguments of a call do not have the type that this format requires (a JSON string or \
        an object). Run `foxwedge fix FILE`: they are written in the right form.",
        "某个调用的参数形式不符合该格式（应为 JSON 字符串或对象）。请运行 `foxwedge fix FILE`：参数会改写为正确的形式。";
    ARGUMENTS_STRICT:
        "The arguments of a call are not a JSON object; most often the reply was cut off. Run \
        `foxwedge fix --profile strict FILE`: a cut object is closed.",
        "某个调用的参数不是合法的 JSON 对象，多半是回复被截断。请运行 `foxwedge fix --profile strict FILE`：被截断的对象会补全。";
    EMPTY_ANSWER:
        "A tool result has no content. Run `foxwedge fix FILE`: it becomes `(no output)`.",
        "某个工具结果没有内容。请运行 `foxwedge fix FILE`：内容会写为 `(no output)`。";
    MALFORMED_ANSWER:
        "The content of a tool result has a type that the provider does not accept, such as an \
        object instead of text. Run `foxwedge fix FILE`: it is written in the right form, and \
        nothing is lost.",
        "某个工具结果的内容类型不被服务商接受，例如应为文本的地方是一个对象。请运行 `foxwedge fix FILE`：内容会以正确的形式表达同样的意思，不会丢失任何内容。";
    UNTYPED_CALL:
        "A tool call has no valid type. Run `foxwedge fix FILE`: the type is added.",
        "某个工具调用没有写明它的类型。请运行 `foxwedge fix FILE`：会补上类型。";
    NULL_CONTENT:
        "An assistant message with calls has `content: null`, and this provider requires a \
        string. Run `foxwedge fix --profile strict FILE`: it becomes an empty string.",
        "带有调用的 assistant 消息的 `content` 为 null，而该服务商要求字符串。请运行 `foxwedge fix --profile strict FILE`：会改为空字符串。";
    EMPTY_TEXT:
        "A text block is empty. Run `foxwedge fix FILE`: the block is removed.",
        "有一个文本块为空。请运行 `foxwedge fix FILE`：该块会被删除。";
    EMPTY_TEXT_GEMINI:
        "A text part is empty, or a message has no parts. Run `foxwedge fix --unsafe-fixes FILE`: \
        what is empty is removed.",
        "有一个文本 part 为空，或有一条消息没有任何 part。请运行 `foxwedge fix --unsafe-fixes FILE`：空的内容会被删除。";
    EMPTY_MESSAGE:
        "A message has neither text nor calls. Run `foxwedge fix FILE`: an empty message is \
        removed, an empty tool result becomes `(no output)`.",
        "有一条消息既没有文本也没有调用。请运行 `foxwedge fix FILE`：空消息会被删除，空的工具结果会写为 `(no output)`。";
    EMPTY_MESSAGE_STRICT:
        "A message has neither text nor calls. Run `foxwedge fix --profile strict FILE`: an empty \
        message is removed, an empty tool result becomes `(no output)`.",
        "有一条消息既没有文本也没有调用。请运行 `foxwedge fix --profile strict FILE`：空消息会被删除，空的工具结果会写为 `(no output)`。";
    EMPTY_CALLS:
        "A message has `tool_calls: []`. Run `foxwedge fix FILE`: the key is removed.",
        "有一条消息带有空的 `tool_calls: []`。请运行 `foxwedge fix FILE`：该键会被删除。";
    EMPTY_HISTORY:
        "The request has no messages, so there is nothing to repair: send at least one user \
        message. `foxwedge check FILE` shows where the list is empty.",
        "请求里没有任何消息，无从修复：请至少发送一条用户消息。可用 `foxwedge check FILE` 查看空列表的位置。";
    MEDIA:
        "A tool message has an image or a file, and this format allows only text there. Run \
        `foxwedge fix FILE`: the media is moved to a user message after the results.",
        "某条 tool 消息包含图片或文件，而该格式只允许文本。请运行 `foxwedge fix FILE`：媒体会移到结果之后的用户消息里。";
    TRAILING_SPACE:
        "The last message is an assistant message and ends in white space. Run `foxwedge fix \
        FILE`: it is trimmed.",
        "最后一条消息是 assistant 的，且以空白字符结尾。请运行 `foxwedge fix FILE`：尾部空白会被去掉。";
    SURROGATE:
        "A text has half a character (a lone surrogate); it was cut when the text was shortened. \
        Run `foxwedge fix FILE`: it is replaced by U+FFFD.",
        "文本里有半个字符（孤立的代理项），是截断文本时留下的。请运行 `foxwedge fix FILE`：会替换为 U+FFFD。";
    MISPLACED:
        "A block is in a message of the wrong role. Run `foxwedge fix FILE`: results are moved to \
        their calls; misplaced calls and thinking are removed.",
        "有一个块放在了角色不对的消息里。请运行 `foxwedge fix FILE`：结果会移回原位，放错的调用和思考块会被删除。";
    TOOLS_NOT_DECLARED:
        "The history uses tools and the request declares none. Send the tools too, or run \
        `foxwedge fix --profile bedrock FILE` on the whole request: inert declarations are added.",
        "历史记录用到了工具，而请求没有声明任何工具。请一并发送工具声明，或对整个请求运行 `foxwedge fix --profile bedrock FILE`：会补上无害的声明。";
}

// Order of roles.
advice! {
    FIRST_NOT_USER:
        "The history does not begin with a user message. Run `foxwedge fix FILE`: a short user \
        message is put first.",
        "历史记录不是以用户消息开头。请运行 `foxwedge fix FILE`：会在最前面补一条简短的用户消息。";
    CALL_TURN:
        "A model turn with a function call is at the beginning or after another model turn. Run \
        `foxwedge fix FILE`: a user turn is put first, neighboring model turns are merged.",
        "带有函数调用的 model 轮出现在开头，或紧跟在另一个 model 轮之后。请运行 `foxwedge fix FILE`：会在最前面补用户消息，并合并相邻的 model 轮。";
    ROLE_ORDER:
        "Two messages of the same role follow each other. Run `foxwedge fix FILE`: they are \
        merged.",
        "有两条相同角色的消息相邻。请运行 `foxwedge fix FILE`：它们会被合并。";
    ROLE_ORDER_STRICT:
        "Two messages of the same role follow each other, and this server requires roles to \
        alternate. Run `foxwedge fix --profile strict FILE`: they are merged.",
        "有两条相同角色的消息相邻，而该服务器要求角色交替。请运行 `foxwedge fix --profile strict FILE`：它们会被合并。";
    TRAILING:
        "The request ends with an assistant message, and this model does not continue its own \
        text. Send a user message after it, or run `foxwedge fix --unsafe-fixes FILE` on the whole \
        request: a short user message is appended.",
        "请求以 assistant 消息结尾，而该模型不支持续写。请在其后发送一条用户消息，或对整个请求运行 `foxwedge fix --unsafe-fixes FILE`：会在末尾补一条简短的用户消息。";
    TRAILING_MISTRAL:
        "The request ends with an assistant message. Run `foxwedge fix --profile mistral FILE` on \
        the whole request: open calls get placeholder results. With `--unsafe-fixes`, a text gets \
        a short user message after it.",
        "请求以 assistant 消息结尾。请对整个请求运行 `foxwedge fix --profile mistral FILE`：未完成的调用会补上结果。加上 `--unsafe-fixes`，文本之后会补一条简短的用户消息。";
    BRIDGE:
        "A user message directly follows a tool message. Run `foxwedge fix --profile mistral \
        FILE`: a short assistant message is put between them.",
        "用户消息直接跟在 tool 消息之后。请运行 `foxwedge fix --profile mistral FILE`：两者之间会补一条简短的 assistant 消息。";
    SYSTEM:
        "A system message is in a place where this model does not allow one. Run `foxwedge fix \
        FILE`: it becomes a user message.",
        "system 消息出现在该模型不允许的位置。请运行 `foxwedge fix FILE`：它会变为用户消息。";
    SYSTEM_MISTRAL:
        "A system message follows an assistant or a tool message. Run `foxwedge fix --profile \
        mistral FILE`: it becomes a user message.",
        "system 消息出现在 assistant 或 tool 消息之后。请运行 `foxwedge fix --profile mistral FILE`：它会变为用户消息。";
    SYSTEM_STRICT:
        "A system message is not at the beginning. Run `foxwedge fix --profile strict FILE`: it \
        becomes a user message.",
        "system 消息没有放在最前面。请运行 `foxwedge fix --profile strict FILE`：它会变为用户消息。";
    ROLE:
        "A message has a role that this provider does not know. Run `foxwedge fix FILE`: it \
        becomes a user message.",
        "有一条消息的角色是该服务商不认识的。请运行 `foxwedge fix FILE`：它会变为用户消息。";
    DEVELOPER:
        "This provider does not know the role `developer`. Run `foxwedge fix --profile mistral \
        FILE`: it becomes `system`.",
        "该服务商不认识 `developer` 角色。请运行 `foxwedge fix --profile mistral FILE`：它会变为 `system`。";
}

// Thinking and signatures.
advice! {
    THINKING_FIRST:
        "Thinking is on, and the current turn does not begin with its thinking block. Put the \
        original block back; if it is lost, run `foxwedge fix FILE` on the whole request: \
        thinking is switched off for this one request.",
        "已开启思考，但当前轮没有以思考块开头。请恢复原来的思考块；若已丢失，请对整个请求运行 `foxwedge fix FILE`：本次请求会关闭思考。";
    SIGNATURE:
        "A thinking block was changed, emptied, or comes from another model. Run `foxwedge fix \
        FILE`: blocks without a signature are removed. If the error stays, a signature is present \
        but wrong, which cannot be seen in the file: remove the thinking blocks from the message \
        that the error names.",
        "某个思考块被改动、清空，或来自另一个模型。请运行 `foxwedge fix FILE`：没有签名的思考块会被删除。若错误依旧，说明签名存在但无效，这在文件里看不出来：请删除报错所指消息里的思考块。";
    BOUND_SIGNATURE:
        "A thinking block is bound to an earlier state of the conversation, and something before \
        it was changed. Run `foxwedge check FILE` for other findings, then remove this thinking \
        block and all later ones, or let the provider do it with `prefix_mismatch_behavior: \
        \"drop_block\"`.",
        "某个思考块绑定于对话先前的状态，而它之前的内容已被改动。请先运行 `foxwedge check FILE` 检查其他问题，再删除报错所指位置及其后的所有思考块，或用 `prefix_mismatch_behavior: \"drop_block\"` 让服务商丢弃它们。";
    DETACHED:
        "Reasoning is at the end of a turn without the text or call it led to. Run `foxwedge fix \
        FILE`: the reasoning is removed.",
        "推理内容出现在一轮的末尾，其后的文本或调用已经缺失。请运行 `foxwedge fix FILE`：该推理内容会被删除。";
    WANTS_REASONING:
        "An item is sent with its stored `id` but without the reasoning item that came with it. \
        Send that item too, or delete the `id` of the item that the error names; `foxwedge check \
        FILE` shows whether reasoning was cut off elsewhere.",
        "某个条目带着保存时的 `id` 发送，却缺少与之一起生成的推理条目。请一并发送该推理条目，或删除报错所指条目的 `id`；可用 `foxwedge check FILE` 检查其他位置的推理是否也被截断。";
    THOUGHT_SIGNATURE:
        "A function call of the current turn lacks its thought signature. Send the part back \
        unchanged; if the signature is lost, run `foxwedge fix FILE`: the documented bypass value \
        is used instead.",
        "当前轮的函数调用缺少它原有的 thought signature。请原样发回该 part；若签名已丢失，请运行 `foxwedge fix FILE`：会填入官方文档提供的跳过校验值。";
    WRONG_THOUGHT_SIGNATURE:
        "A thought signature is present but wrong: it was changed, or comes from another model. \
        That cannot be seen in the file, so a repair leaves it as it is. Send the part back \
        unchanged; otherwise remove the signature from the function calls of the current turn and \
        run `foxwedge fix FILE`: the documented bypass value is used instead.",
        "thought signature 存在但无效：它被改动过，或来自另一个模型。这在文件里看不出来，因此修复不会改动它。请原样发回该 part；否则请删除当前轮函数调用上的签名，再运行 `foxwedge fix FILE`：会填入官方文档提供的跳过校验值。";
    REASONING_CONTENT:
        "An assistant message with calls lacks `reasoning_content`, which thinking mode requires. \
        Run `foxwedge fix --profile deepseek FILE`: the field is added, empty where the text is \
        lost.",
        "带有调用的 assistant 消息缺少 `reasoning_content`，而思考模式要求传回。请运行 `foxwedge fix --profile deepseek FILE`：会补上该字段，原文丢失时为空。";
    REASONING_TEXT:
        "A function call is sent without the reasoning item before it, which thinking mode \
        requires. Keep the reasoning items of the reply; `foxwedge check --profile deepseek FILE` \
        shows other findings.",
        "函数调用之前缺少推理条目，而思考模式要求传回。请保留回复中的推理条目；可用 `foxwedge check --profile deepseek FILE` 查看其他放错位置的内容。";
}

// Errors without details.
advice! {
    GLM:
        "GLM returns this error for every invalid history. Run `foxwedge check --profile strict \
        FILE` to see what is wrong, then `foxwedge fix --profile strict FILE`.",
        "GLM 对所有不合规的消息列表都报这个错误。请先运行 `foxwedge check --profile strict FILE` 查看具体问题，再运行 `foxwedge fix --profile strict FILE`。";
    MISTRAL_ORDER:
        "Mistral does not accept the order of the messages. Run `foxwedge check --profile mistral \
        FILE` to see where, then `foxwedge fix --profile mistral FILE`.",
        "Mistral 不接受当前的消息顺序。请先运行 `foxwedge check --profile mistral FILE` 查看位置，再运行 `foxwedge fix --profile mistral FILE`。";
}

// What no history can cause.
advice! {
    CONTAINER:
        "The last turn has tool calls that a program made (code execution). The history is valid; \
        the request must name the container that runs the program: set `container` to the id in \
        the response that made the calls.",
        "最后一轮里有由程序（代码执行）发起的工具调用。历史记录本身是有效的；请求必须指明运行该程序的容器：请把 `container` 设为发起这些调用的响应中的 id。";
    FOREIGN_ITEM:
        "An item of the input belongs to another account. Items such as `program` are bound to \
        the account that received them: send the request with that account's key, or convert the \
        history with `foxwedge convert`, which leaves them out and says so.",
        "输入中的某个条目属于另一个账户。`program` 等条目与收到它们的账户绑定：请使用该账户的密钥发送请求，或用 `foxwedge convert` 转换历史记录，转换时会略去这些条目并加以说明。";
    LONG_PROPERTY:
        "A property name in the arguments of an item is longer than OpenAI accepts. Look at the \
        `tool_search_call` items of the input: their arguments must be sent back unchanged.",
        "某个条目的参数里有一个属性名超过了 OpenAI 允许的长度。请检查输入中的 `tool_search_call` 条目：它们的参数必须原样送回。";
    COMPACTION_PLACE:
        "A request may have one `compaction` block with content, as the first block of the \
        conversation. Send the newest one first, unchanged, and leave out what it summarizes.",
        "一个请求只能有一个带内容的 `compaction` 块，并且它必须是对话的第一个块。请把最新的一个原样放在最前面，并去掉它所概括的内容。";
    COMPACTION_CHANGED:
        "A `compaction` block is not as the provider sent it, or the tools changed since. Send it \
        back byte for byte with the same tool changes; otherwise leave the block out and send the \
        messages that it replaced.",
        "某个 `compaction` 块与服务商发出的内容不一致，或其后的工具有变化。请连同相同的工具变更逐字节送回；否则请去掉该块，发送它所替代的消息。";
    COMPACTION_REFUSED:
        "The provider cannot compact this conversation now. The history is valid: send it without \
        the request for compaction, or run `foxwedge compact FILE`, which needs no provider.",
        "服务商现在无法压缩这段对话。历史记录是有效的：请在不要求压缩的情况下发送，或运行 `foxwedge compact FILE`，它不需要服务商。";
    THREAD_CONTINUED:
        "The thread already has a message after the one that the request names, or one is being \
        made. A message can be continued once: name the newest message, or send the whole history.",
        "该线程在请求所指的消息之后已经有消息，或正在生成一条。一条消息只能被继续一次：请指明最新的消息，或发送完整的历史记录。";
    THREAD_UNKNOWN:
        "The provider has no thread that fits the request: it is gone, or the request has other \
        settings than those stored with it. Send the whole history instead of the thread.",
        "服务商没有与该请求相符的线程：它已不存在，或请求的设置与所保存的不同。请发送完整的历史记录，而不是线程。";
    TOOL_LIST:
        "The tools of the request do not fit together: two have one name, or there are too many. \
        The history is valid; change the list of tools.",
        "请求的工具列表有问题：有两个同名的工具，或数量过多。历史记录是有效的；请修改工具列表。";
    DUPLICATE_ITEM:
        "Two items of the input have the same `id`, or the input repeats an item of the response \
        that `previous_response_id` names. Leave the second one out, or delete its `id`.",
        "输入中有两个条目的 `id` 相同，或者输入重复了 `previous_response_id` 所指响应中的条目。请去掉第二个，或删除它的 `id`。";
    CACHE_MARKS:
        "The request has more cache marks than the provider allows, over system, tools and \
        messages together. The history is valid: remove the oldest `cache_control` fields.",
        "请求中 system、tools 和 messages 的缓存标记合计超过了服务商允许的数量。历史记录是有效的：请删除最早的几个 `cache_control` 字段。";
    FOREIGN_FIELD:
        "A message has a field that this server does not know; most often it is the reasoning of \
        another provider. Remove the field from the messages, or convert the history from its own \
        format with `foxwedge convert`, which leaves it out and says so.",
        "有一条消息带有该服务器不认识的字段，多半是另一家服务商的推理内容。请从消息中删除该字段，或用 `foxwedge convert` 从原格式转换历史记录，转换时会略去它并加以说明。";
    SINGLE_CALLS:
        "The template of this model accepts one tool call in a message, and the history has \
        parallel ones. The history is valid for other models: switch parallel calls off, or use \
        `foxwedge convert --tools text`, which writes calls and results as text.",
        "该模型的模板在一条消息里只接受一个工具调用，而历史记录中有并行调用。历史记录对其他模型是有效的：请关闭并行调用，或使用 `foxwedge convert --tools text`，把调用和结果写成文本。";
    FORCED_TOOL:
        "A forced `tool_choice` and manual thinking exclude each other. The history is valid: set \
        `tool_choice` to `auto` or `none`, or switch thinking off.",
        "强制的 `tool_choice` 与手动思考不能同时使用。历史记录是有效的：请把 `tool_choice` 设为 `auto` 或 `none`，或关闭思考。";
    UNRESOLVED_REFERENCE:
        "A `tool_reference` names a tool that the request does not declare; most often its MCP \
        server is gone. Run `foxwedge fix FILE` on the whole request: the reference becomes text. \
        Or declare the tool again.",
        "某个 `tool_reference` 所指的工具没有在请求中声明，多半是它的 MCP 服务器已不在。请对整个请求运行 `foxwedge fix FILE`：该引用会变成文本。也可以重新声明该工具。";
    RATE_LIMIT:
        "The account may not send this many tokens in this time; the model could accept the \
        request. The history may be valid. Wait, or ask for a higher limit. If this request alone \
        exceeds the limit, `foxwedge compact FILE` makes it shorter.",
        "账户在这段时间内不能发送这么多 token；模型本身可以接受该请求，历史记录可能是有效的。请等待，或申请更高的限额。若单个请求就超过限额，`foxwedge compact FILE` 可使其变短。";
    REPLY_LIMIT:
        "The conversation and the reply that the request allows do not fit into the context \
        together. The history may be valid. Lower `max_tokens`; if the conversation alone has more \
        tokens than the model accepts, run `foxwedge compact FILE`.",
        "对话与请求允许的回复长度合计超过了模型的上下文，历史记录本身可能是有效的。请调低 `max_tokens`；若对话本身的 token 数已超过模型上限，请运行 `foxwedge compact FILE`。";
    REQUEST_BYTES:
        "The request has more bytes than the provider reads, whatever its tokens. The history may \
        be valid. Leave out or shrink pictures, documents and long results; `foxwedge compact \
        FILE` makes the conversation shorter.",
        "请求的字节数超过了服务商可读取的上限，与 token 数无关，历史记录本身可能是有效的。请去掉或缩小图片、文档和过长的结果；`foxwedge compact FILE` 可使对话变短。";
    CONTEXT_OVERFLOW:
        "The conversation has more tokens than the model accepts. The history may be valid. Run \
        `foxwedge compact FILE`: it becomes shorter, and every tool call keeps its result.",
        "对话的 token 数超过了模型的上限，历史记录本身可能是有效的。请运行 `foxwedge compact FILE`：对话会变短，每个工具调用都保留自己的结果。";
}
