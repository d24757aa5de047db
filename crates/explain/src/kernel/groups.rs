//! What a kernel function's instructions are spent on, by its name.

use super::names::in_source;
use model::explained::Group;

/// Prefixes of names: the first row with one that fits decides. A function that fits none has its caller's group.
const TABLE: &[(Group, &str)] = &[
    (
        Group::Mitigations,
        "__x86_ srso_ retbleed_ clear_bhb_loop write_ibpb entry_ibpb amd_clear_divider mds_ x86_verw its_ \
         spec_ctrl update_spec_ctrl indirect_branch_prediction_barrier entry_untrain_ret l1d_flush \
         rewind_stack",
    ),
    (
        Group::Tracing,
        "audit_ __audit_ seccomp_ __seccomp_ __secure_computing syscall_trace_ trace_ __trace_ ptrace_ perf_ \
         __perf_ ftrace_ bpf_ __bpf_ syscall_user_dispatch syscall_enter_audit",
    ),
    (
        Group::Exit,
        "syscall_exit_to_user_mode exit_to_user_mode __syscall_exit_to_user_mode syscall_return_via_sysret \
         swapgs_restore_regs_and_return_to_usermode common_interrupt_return entry_SYSRETQ entry_SYSRETL \
         fpregs_assert_state_consistent switch_fpu_return irqentry_exit arch_exit_to_user_mode task_work_run \
         syscall_exit_work __rseq_handle_notify_resume rseq_ ret_to_user do_notify_resume",
    ),
    (
        Group::Entry,
        "entry_ do_syscall_64 x64_sys_call ia32_sys_call syscall_enter_from_user_mode do_int80 do_fast_ \
         __do_fast_ do_SYSENTER enter_from_user_mode el0_svc el0t_64_sync do_el0_svc invoke_syscall \
         __do_syscall_32 vectors",
    ),
    (
        Group::Interrupts,
        "asm_sysvec_ asm_common_interrupt sysvec_ common_interrupt __sysvec_ irq_enter irq_exit __do_softirq \
         handle_softirqs el0t_64_irq el1h_64_irq el0_interrupt el1_interrupt gic_",
    ),
    (
        Group::Faults,
        "el1h_64_sync el0_da el0_ia el1_abort do_mem_abort do_translation_fault do_page_fault asm_exc_ exc_ \
         error_entry do_user_addr_fault handle_mm_fault flush_tlb_ unmap_page_range",
    ),
    (
        Group::Permissions,
        "security_ apparmor_ tomoyo_ selinux_ yama_ landlock_ cap_ hook_ generic_permission inode_permission \
         may_ acl_ posix_acl_ get_cached_acl ns_capable capable aa_ common_perm common_file_perm \
         rw_verify_area avc_ lsm_ bprm_ smack_ privileged_wrt_inode make_vfsuid check_acl",
    ),
    (
        Group::UserCopy,
        "copy_to_user _copy_to_user copy_from_user _copy_from_user copy_user_ __copy_user rep_movs_ raw_copy_ \
         strncpy_from_user __put_user __get_user put_user get_user cp_new_stat cp_statx strnlen_user \
         copy_page_to_iter copy_page_from_iter _copy_to_iter _copy_from_iter __check_object_size clear_user \
         copy_folio_ __arch_copy_ __arch_clear_user",
    ),
    (
        Group::Memory,
        "kmem_cache_ kmalloc __kmalloc __kmem_cache kfree __kfree ___slab_alloc __slab_ slab_ ___cache_free \
         __alloc_pages alloc_pages __free_pages free_pages get_page_from_freelist free_unref_ memcg_slab \
         __memcg_ obj_cgroup vmalloc vfree kvmalloc kvfree mempool_ __get_free_pages should_failslab \
         refill_obj_stock __refill_obj",
    ),
    (
        Group::PathWalk,
        "filename_lookup path_lookupat path_openat path_init path_parentat link_path_walk walk_component \
         lookup_fast lookup_slow __d_lookup d_lookup step_into handle_mounts traverse_mounts complete_walk \
         terminate_walk getname putname user_path_at nd_jump_ set_nameidata restore_nameidata set_root \
         try_to_unlazy legitimize_ pick_link follow_dot path_put path_get __legitimize hash_name do_filp_open \
         __lookup_ __traverse_mounts generic_ci_ drop_links put_link",
    ),
    (
        Group::Scheduling,
        "schedule __schedule try_to_wake_up wake_up_ __wake_up ttwu_ __switch_to finish_task_switch \
         cpu_switch_to pick_next_task enqueue_task dequeue_task default_wake_function \
         autoremove_wake_function do_idle cpu_startup_entry futex_wait_queue preempt_schedule select_task_rq \
         hrtimer_ ret_from_fork cpu_idle cpuidle_ default_idle secondary_startup smpboot_ kthread \
         worker_thread",
    ),
    (
        Group::Work,
        "__x64_sys_ __ia32_sys_ __arm64_sys_ __do_sys_ __se_sys_ do_sys_ ksys_ __ia32_compat_sys_",
    ),
];

/// `of_caller` is the group of its caller; `in_kernel` says whether it is the kernel's.
pub fn group(name: &str, in_kernel: bool, of_caller: Group) -> Group {
    if !in_kernel {
        return Group::Caller;
    }
    let name = in_source(name);
    TABLE
        .iter()
        .find(|(_, prefixes)| {
            prefixes
                .split_whitespace()
                .any(|prefix| name.starts_with(prefix))
        })
        .map(|(group, _)| *group)
        .unwrap_or(if of_caller == Group::Caller {
            Group::Work
        } else {
            of_caller
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_by_name() {
        for (name, expected) in [
            ("entry_SYSCALL_64_after_hwframe", Group::Entry),
            ("entry_SYSRETQ_unsafe_stack", Group::Exit),
            ("syscall_exit_to_user_mode_prepare", Group::Exit),
            ("__x86_indirect_thunk_array", Group::Mitigations),
            ("__x64_sys_newfstat", Group::Work),
            ("path_init", Group::PathWalk),
            ("tomoyo_path_perm", Group::Permissions),
            ("kmem_cache_alloc", Group::Memory),
            ("cp_new_stat", Group::UserCopy),
            ("asm_sysvec_apic_timer_interrupt", Group::Interrupts),
            ("asm_exc_page_fault", Group::Faults),
            ("__schedule.constprop.0", Group::Scheduling),
            ("syscall_trace_enter", Group::Tracing),
            ("el0t_64_sync_handler", Group::Entry),
            ("el0t_64_irq", Group::Interrupts),
            ("ret_to_user", Group::Exit),
        ] {
            assert_eq!(group(name, true, Group::Work), expected, "{name}");
        }
    }

    #[test]
    fn a_helper_is_spent_on_what_its_caller_is() {
        assert_eq!(group("memset", true, Group::PathWalk), Group::PathWalk);
        assert_eq!(group("__rcu_read_lock", true, Group::Caller), Group::Work);
        assert_eq!(group("memset", false, Group::PathWalk), Group::Caller);
    }

    #[test]
    fn no_prefix_is_hidden_by_one_before_it() {
        let all: Vec<&str> = TABLE
            .iter()
            .flat_map(|(_, prefixes)| prefixes.split_whitespace())
            .collect();
        for (at, prefix) in all.iter().enumerate() {
            let before = all[..at].iter().find(|before| prefix.starts_with(**before));
            assert_eq!(before, None, "{prefix} can never be reached");
        }
    }
}
