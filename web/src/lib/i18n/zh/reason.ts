import type en from '../en/reason'
import type { Figures } from '../en/reason'

const room = (w: Figures) => w.room || '该会议室'

const zh: typeof en = {
  reason: {
    room_conflict: (w) => (w.span ? `${w.span} 已被占用` : '已被占用'),
    features: (w) => `没有${w.feature}`,
    no_time_to_decide: () => '距开始太近，来不及审批。',
    capacity: (w) => `${room(w)}有 ${w.limit} 个座位，不足 ${w.actual} 人。`,
    room_inactive: (w) => `${room(w)}目前不可预订。`,
    opening_hours: (w) => `${room(w)}在该时段并非全程开放：${w.limit}。`,
    blackout: (w) => `${room(w)}停用：${w.span}${w.reason ? `（${w.reason}）` : ''}。`,
    min_duration: (w) => `${room(w)}至少预订 ${w.limit}，当前为 ${w.actual}。`,
    max_duration: (w) => (w.room ? `${w.room}最多预订 ${w.limit}，当前为 ${w.actual}。` : `一次会议最长 ${w.limit}，当前为 ${w.actual}。`),
    step: (w) => `${room(w)}按 ${w.limit}为单位预订，${w.actual} 不在整格上。`,
    min_notice: (w) => `${room(w)}至少提前 ${w.limit}预订，当前只提前 ${w.actual}。`,
    max_advance: (w) => (w.dated ? `最晚只能预订到 ${w.limit}，当前到 ${w.actual}。` : `${w.room}最多提前 ${w.limit}预订，当前提前 ${w.actual}。`),
    quota: (w) => `您在${w.room || '该会议室'}的额度为每${w.per} ${w.limit}，已用 ${w.used}，加上本次为 ${w.actual}。`,
    booked_ahead: (w) => `每人在所有会议室中最多可提前预订共 ${w.limit}，已用 ${w.used}，加上本次为 ${w.actual}。`,
    rooms_at_once: (w) => `每人同一时间最多可预订 ${w.limit} 间会议室，加上本次为 ${w.actual} 间。`,
    too_many_waits: (w) => `您已在候补 ${w.used} 场会议，最多 ${w.limit} 场，请先放弃其中一个。`,
    needs_approval: (w) => `预订${w.room || '该会议室'}需要审批，请在网页上提交申请。`,
    too_many_dates: (w) => `一个系列最多 ${w.limit} 次。`,
    not_in_rule: (w) => `首次日期必须符合规则，下一个符合的日期是 ${w.limit}。`,
    too_far: () => '跨越的年份太多。',
    endless: () => '规则需要结束条件：COUNT 或 UNTIL。',
    impossible: () => '没有任何日期符合该规则。',
    until_before_start: () => '规则在开始之前就已结束。',
    overlaps_itself: () => '每一次会议（含会议室前后的预留时间）都必须在下一次开始之前结束。',
    no_dates: () => '没有剩下任何日期。',
    sub_daily: () => '系列会议每天最多一次。',
    unknown_part: () => '规则中有未知的部分。',
    invalid_part: () => '规则中有无法识别的部分。',
    duplicate_part: () => '规则中有重复的部分。',
    unsupported: () => '规则中有不支持的部分。',
    cancelled: () => '已取消',
  },
  periods: { day: '天', week: '周', month: '月' },
}

export default zh
