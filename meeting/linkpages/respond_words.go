package linkpages

import "punctual/meeting"

// What the page says on which one answers an invitation, by language. Leads have {who} organizes.
var respondStates = map[string]map[string]stateWords{
	"en": {
		"needs_action": {"Invitation", "{who} invites you. Will you come?"},
		"accepted":     {"You are coming", "{who} knows that you will come. You can change your answer until it is over."},
		"tentative":    {"You may come", "{who} knows that you may come. You can change your answer until it is over."},
		"declined":     {"You are not coming", "{who} knows that you will not come. You can change your answer until it is over."},
		"over":         {"It is over", "This meeting is over. There is nothing to answer any more."},
		"off":          {"It does not take place", "This meeting was called off. There is nothing to answer any more."},
		"unknown":      {"This link does not work", "It may be incomplete, or you are not invited any more. Open it from the newest mail again."},
		"limited":      {"Too many attempts", "Please try again in a minute."},
		"failed":       {"This did not work", "Your answer was not noted. Please try again in a moment."},
	},
	"de": {
		"needs_action": {"Einladung", "{who} lädt Sie ein. Kommen Sie?"},
		"accepted":     {"Sie kommen", "{who} weiß, dass Sie kommen. Bis zum Ende der Besprechung können Sie Ihre Antwort ändern."},
		"tentative":    {"Sie kommen vielleicht", "{who} weiß, dass Sie vielleicht kommen. Bis zum Ende der Besprechung können Sie Ihre Antwort ändern."},
		"declined":     {"Sie kommen nicht", "{who} weiß, dass Sie nicht kommen. Bis zum Ende der Besprechung können Sie Ihre Antwort ändern."},
		"over":         {"Vorbei", "Diese Besprechung ist vorbei. Es gibt nichts mehr zu antworten."},
		"off":          {"Findet nicht statt", "Diese Besprechung wurde abgesagt. Es gibt nichts mehr zu antworten."},
		"unknown":      {"Dieser Link funktioniert nicht", "Vielleicht ist er unvollständig, oder Sie sind nicht mehr eingeladen. Öffnen Sie ihn noch einmal aus der neuesten Mail."},
		"limited":      {"Zu viele Versuche", "Bitte versuchen Sie es in einer Minute noch einmal."},
		"failed":       {"Das hat nicht geklappt", "Ihre Antwort wurde nicht vermerkt. Bitte versuchen Sie es gleich noch einmal."},
	},
	"zh-CN": {
		"needs_action": {"会议邀请", "{who} 邀请您参加会议。您会参加吗？"},
		"accepted":     {"您将参加", "{who} 已知道您将参加。会议结束前您都可以更改答复。"},
		"tentative":    {"您可能参加", "{who} 已知道您可能参加。会议结束前您都可以更改答复。"},
		"declined":     {"您不参加", "{who} 已知道您不参加。会议结束前您都可以更改答复。"},
		"over":         {"已结束", "本次会议已结束，无需再答复。"},
		"off":          {"会议已取消", "本次会议已取消，无需再答复。"},
		"unknown":      {"链接无效", "链接可能不完整，或者您已不在受邀之列。请从最新的邮件中重新打开。"},
		"limited":      {"尝试次数过多", "请一分钟后再试。"},
		"failed":       {"操作未成功", "您的答复尚未记录，请稍后再试。"},
	},
}

var respondLabels = map[string]map[meeting.Response]string{
	"en":    {meeting.Accepted: "Accept", meeting.Tentative: "Maybe", meeting.Declined: "Decline"},
	"de":    {meeting.Accepted: "Zusagen", meeting.Tentative: "Vielleicht", meeting.Declined: "Absagen"},
	"zh-CN": {meeting.Accepted: "接受", meeting.Tentative: "待定", meeting.Declined: "谢绝"},
}

var respondConfirm = map[string]string{
	"en":    "You are about to answer “{choice}”. Nothing has happened yet: please confirm below.",
	"de":    "Sie sind dabei, mit „{choice}“ zu antworten. Noch ist nichts geschehen: Bitte bestätigen Sie unten.",
	"zh-CN": "您即将答复“{choice}”。目前尚未提交，请在下方确认。",
}

var respondOptional = map[string]string{
	"en": "optional, for the organiser", "de": "freiwillig, für die organisierende Person", "zh-CN": "选填，仅组织者可见",
}

// respondChanged asks again after a change that the reader had not seen.
var respondChanged = map[string]string{
	"en":    "This has changed since you opened the page. Your answer was not noted. Please look at what is shown now and answer again.",
	"de":    "Das hat sich geändert, seit Sie die Seite geöffnet haben. Ihre Antwort wurde nicht vermerkt. Bitte sehen Sie sich den neuen Stand an und antworten Sie noch einmal.",
	"zh-CN": "您打开页面后，会议已有变更，您的答复尚未记录。请查看最新信息后重新答复。",
}
