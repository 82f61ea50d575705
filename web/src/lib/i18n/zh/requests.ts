import type en from '../en/requests'

const zh: typeof en = {
  decide: {
    title: '审批',
    none: '没有待审批的申请',
    noneText: '由您审批的会议室申请会显示在这里。',
    asked: (who, ago) => `${who} ${ago}申请`,
    expires: (when) => `${when}自动拒绝`,
    passes: (when) => `${when}自动批准`,
    agreed: (names) => `${names} 已批准`,
    move: '申请的时间',
    all: '全选',
    mark: (title) => `选择 ${title}`,
    chosen: (n) => `已选 ${n} 项`,
    approveAll: (n) => `批准 ${n} 项`,
    rejectAll: (n) => `拒绝 ${n} 项`,
  },
}

export default zh
