package linkpages

type arrivalWords struct {
	Button string
	States map[string]stateWords
}

var arrivalIn = map[string]*arrivalWords{
	"en": {"Check in", map[string]stateWords{
		"open":     {"Check in", "Are you there? Check in by {when}, or the room is released."},
		"optional": {"Check in", "Check-in is optional for this meeting."},
		"done":     {"Checked in", "Checked in at {when}. The room is yours."},
		"early":    {"Too early", "Check-in opens at {when}."},
		"pending":  {"Waiting for approval", "This meeting has not been approved yet."},
		"over":     {"Meeting ended", "This meeting has ended or was canceled, so you cannot check in."},
		"released": {"Room released", "Nobody checked in by {when}, so the room was released. If it is still free, book it again."},
		"free":     {"The room is free", "No meeting is taking place here now, and none starts soon."},
		"stale":    {"Code expired", "The code at the door changes every few minutes. Please scan it again."},
		"unknown":  {"This link does not work", "It may be incomplete. Open it from the e-mail again, or sign in to check in."},
		"limited":  {"Too many attempts", "Please try again in a minute."},
		"failed":   {"Something went wrong", "You are not checked in. Please try again in a moment."},
	}},
	"de": {"Einchecken", map[string]stateWords{
		"open":     {"Einchecken", "Sind Sie da? Checken Sie bis {when} ein, sonst wird der Raum freigegeben."},
		"optional": {"Einchecken", "Für diese Besprechung ist das Einchecken optional."},
		"done":     {"Eingecheckt", "Eingecheckt um {when}. Der Raum gehört Ihnen."},
		"early":    {"Zu früh", "Einchecken ist ab {when} möglich."},
		"pending":  {"Wartet auf Genehmigung", "Diese Besprechung wurde noch nicht genehmigt."},
		"over":     {"Besprechung beendet", "Diese Besprechung ist beendet oder wurde abgesagt. Einchecken ist nicht mehr möglich."},
		"released": {"Raum freigegeben", "Bis {when} hat niemand eingecheckt, daher wurde der Raum freigegeben. Falls er noch frei ist, buchen Sie ihn erneut."},
		"free":     {"Der Raum ist frei", "Hier findet gerade keine Besprechung statt, und es beginnt auch keine in Kürze."},
		"stale":    {"Code abgelaufen", "Der Code an der Tür ändert sich alle paar Minuten. Bitte scannen Sie ihn noch einmal."},
		"unknown":  {"Dieser Link funktioniert nicht", "Möglicherweise ist er unvollständig. Öffnen Sie ihn noch einmal aus der E-Mail, oder melden Sie sich an, um einzuchecken."},
		"limited":  {"Zu viele Versuche", "Bitte versuchen Sie es in einer Minute noch einmal."},
		"failed":   {"Ein Fehler ist aufgetreten", "Sie sind nicht eingecheckt. Bitte versuchen Sie es gleich noch einmal."},
	}},
	"zh-CN": {"签到", map[string]stateWords{
		"open":     {"签到", "您到场了吗？请在 {when} 前签到，否则会议室将被释放。"},
		"optional": {"签到", "本次会议可以不签到。"},
		"done":     {"已签到", "已于 {when} 签到，会议室归您使用。"},
		"early":    {"还未开放", "{when} 起可以签到。"},
		"pending":  {"等待审批", "本次会议尚未获得批准。"},
		"over":     {"会议已结束", "本次会议已结束或已取消，无法签到。"},
		"released": {"会议室已释放", "截至 {when} 无人签到，会议室已释放。如仍空闲，请重新预订。"},
		"free":     {"会议室空闲", "这里目前没有会议，近期也没有会议开始。"},
		"stale":    {"二维码已过期", "门口的二维码每隔几分钟更新，请重新扫描。"},
		"unknown":  {"链接无效", "链接可能不完整。请从邮件中重新打开，或登录后签到。"},
		"limited":  {"尝试次数过多", "请一分钟后再试。"},
		"failed":   {"操作未成功", "尚未签到，请稍后再试。"},
	}},
}
